module.exports = { isatty: () => false };

exports = () => {};

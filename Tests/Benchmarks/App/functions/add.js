exports = (a, b) => ({ sum: a + b });

module.exports = require("./requests.js").of("http:");

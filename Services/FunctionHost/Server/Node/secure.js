module.exports = require("./requests.js").of("https:");

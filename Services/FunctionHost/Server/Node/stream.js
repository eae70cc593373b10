// Debian's package `stream-browserify`, with what Node has besides.
const stream = require("stream-browserify");
Object.defineProperty(stream, "promises", { get: () => require("stream/promises"), enumerable: true, configurable: true });
module.exports = stream;

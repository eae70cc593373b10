// Debian's package `buffer`, with the encoding base64url, which it lacks.
const library = require("buffer/"), { Buffer } = library;
const isURL = encoding => typeof encoding === "string" && encoding.toLowerCase() === "base64url";
const { from, isEncoding, byteLength } = Buffer, { toString, write } = Buffer.prototype;
// The library reads "-" and "_" in base64 as well.
const known = encoding => isURL(encoding) ? "base64" : encoding;
Buffer.from = function (value, encoding, length) { return from.call(Buffer, value, known(encoding), length); };
Buffer.isEncoding = encoding => isURL(encoding) || isEncoding(encoding);
Buffer.byteLength = (value, encoding) => byteLength(value, known(encoding));
Buffer.prototype.write = function (text, ...rest) { return write.call(this, text, ...rest.map(known)); };
Buffer.prototype.toString = function (encoding, start, end) {
  const text = toString.call(this, known(encoding), start, end);
  return isURL(encoding) ? text.replace(/\+/g, "-").replace(/\//g, "_").replace(/=+$/, "") : text;
};
Buffer.prototype.toLocaleString = Buffer.prototype.toString;
module.exports = { ...library, Buffer, constants: { MAX_LENGTH: library.kMaxLength, MAX_STRING_LENGTH: 0x3fffffff }, atob: inside.atob,
  btoa: inside.btoa };

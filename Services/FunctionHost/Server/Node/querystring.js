const escape = text => encodeURIComponent(text).replace(/[!'()*]/g, c => "%" + c.charCodeAt(0).toString(16).toUpperCase())
  .replace(/%(21|27|28|29|2A)/g, (_, code) => String.fromCharCode(parseInt(code, 16)));
function unescape(text) { try { return decodeURIComponent(text); } catch { return text; } }
const primitive = value => typeof value === "string" ? value
  : typeof value === "number" && Number.isFinite(value) || typeof value === "bigint" || typeof value === "boolean" ? String(value) : "";
function stringify(object, separator = "&", equals = "=", options = {}) {
  const encode = options?.encodeURIComponent ?? module.exports.escape;
  if (object === null || typeof object !== "object") return "";
  return Object.keys(object).flatMap(name => [].concat(object[name]).map(value => encode(primitive(name)) + equals + encode(primitive(value)))).join(separator);
}
function parse(text, separator = "&", equals = "=", options = {}) {
  const out = Object.create(null), decode = options?.decodeURIComponent ?? module.exports.unescape, limit = options?.maxKeys ?? 1000;
  if (typeof text !== "string" || text === "") return out;
  let parts = text.split(separator);
  if (limit > 0) parts = parts.slice(0, limit);
  for (const part of parts) {
    const at = part.indexOf(equals), clean = piece => decode(piece.replace(/\+/g, " "));
    const name = clean(at < 0 ? part : part.slice(0, at)), value = at < 0 ? "" : clean(part.slice(at + equals.length));
    if (part === "") continue;
    out[name] = name in out ? [].concat(out[name], value) : value;
  }
  return out;
}
module.exports = { escape, unescape, stringify, parse, encode: stringify, decode: parse };

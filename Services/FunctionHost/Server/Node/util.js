const custom = Symbol.for("nodejs.util.inspect.custom"), promisified = Symbol.for("nodejs.util.promisify.custom");
const tag = value => Object.prototype.toString.call(value).slice(8, -1);
const is = name => value => tag(value) === name;
const isView = name => value => ArrayBuffer.isView(value) && value[Symbol.toStringTag] === name;
const types = {
  isDate: value => value instanceof Date, isRegExp: is("RegExp"), isNativeError: value => value instanceof Error,
  isPromise: value => value instanceof Promise,
  isMap: is("Map"), isSet: is("Set"), isWeakMap: is("WeakMap"), isWeakSet: is("WeakSet"), isArrayBuffer: is("ArrayBuffer"),
  isSharedArrayBuffer: () => false,
  isAnyArrayBuffer: is("ArrayBuffer"), isDataView: is("DataView"), isTypedArray: value => ArrayBuffer.isView(value) && !(value instanceof DataView),
  isArrayBufferView: value => ArrayBuffer.isView(value), isAsyncFunction: is("AsyncFunction"), isGeneratorFunction: is("GeneratorFunction"),
  isGeneratorObject: is("Generator"), isArgumentsObject: is("Arguments"), isProxy: () => false, isExternal: () => false,
  isNumberObject: value => typeof value === "object" && tag(value) === "Number",
  isStringObject: value => typeof value === "object" && tag(value) === "String",
  isBooleanObject: value => typeof value === "object" && tag(value) === "Boolean",
  isSymbolObject: value => typeof value === "object" && tag(value) === "Symbol",
  isBoxedPrimitive: value => typeof value === "object" && value !== null && ["Number", "String", "Boolean", "Symbol", "BigInt"].includes(tag(value)),
  isModuleNamespaceObject: is("Module"), isMapIterator: is("Map Iterator"), isSetIterator: is("Set Iterator"),
};
for (const name of ["Uint8Array", "Uint8ClampedArray", "Uint16Array", "Uint32Array", "Int8Array", "Int16Array", "Int32Array", "Float32Array",
  "Float64Array", "BigInt64Array", "BigUint64Array"]) types["is" + name] = isView(name);

const quoted = text => "'" + JSON.stringify(text).slice(1, -1).replace(/\\"/g, '"').replace(/'/g, "\\'") + "'";
const keyText = name => typeof name === "symbol" ? `[${String(name)}]` : /^[A-Za-z_$][\w$]*$/.test(name) ? name : quoted(name);
function inspect(value, options, ...more) {
  const settings = typeof options === "object" && options !== null ? options : { showHidden: options, depth: more[0] };
  const { depth = 2, compact = 3, breakLength = 80, showHidden = false, maxArrayLength = 100, sorted = false } = settings;
  const seen = [];
  function shown(value, level) {
    switch (typeof value) {
      case "string": return level === 0 && settings.plainText ? value : quoted(value);
      case "bigint": return `${value}n`;
      case "function": return `[${/^class\b/.test(Function.prototype.toString.call(value)) ? "class" : tag(value)}${value.name ? (/^class\b/.test(Function.prototype.toString.call(value)) ? " " : ": ") + value.name : " (anonymous)"}]`;
      case "number": return Object.is(value, -0) ? "-0" : String(value);
      case "object": break;
      default: return String(value);
    }
    if (value === null) return "null";
    if (typeof value[custom] === "function" && value[custom] !== inspect) {
      const text = value[custom](depth - level, settings, inspect);
      return typeof text === "string" ? text : shown(text, level);
    }
    if (seen.includes(value)) return "[Circular *1]";
    if (value instanceof Date) return Number.isNaN(value.getTime()) ? "Invalid Date" : value.toISOString();
    if (value instanceof RegExp) return String(value);
    const bson = typeof value._bsontype === "string" ? `${value._bsontype === "ObjectID" ? "ObjectId" : value._bsontype}(${quoted(String(value))})` : undefined;
    if (bson) return bson;
    const name = Object.getPrototypeOf(value) === null ? "[Object: null prototype]" : value.constructor?.name ?? "Object";
    if (level > depth && depth !== null) return Array.isArray(value) ? "[Array]" : `[${name}]`;
    seen.push(value);
    const inner = part => shown(part, level + 1);
    let open = "{", close = "}", prefix = name === "Object" ? "" : name + " ", parts = [];
    const keys = (showHidden ? Reflect.ownKeys(value) : Object.keys(value)).filter(key => !(Array.isArray(value) && (key === "length" || /^\d+$/.test(String(key)))));
    if (Array.isArray(value) || types.isTypedArray(value)) {
      [open, close] = ["[", "]"];
      prefix = name === "Array" ? "" : name === "Buffer" ? "" : `${name}(${value.length}) `;
      parts = Array.from(value).slice(0, maxArrayLength ?? undefined).map(inner);
      if (value.length > parts.length) parts.push(`... ${value.length - parts.length} more items`);
      if (!Array.isArray(value)) keys.length = 0;
    } else if (value instanceof Map) {
      prefix = `Map(${value.size}) `;
      parts = [...value].map(([key, part]) => `${inner(key)} => ${inner(part)}`);
    } else if (value instanceof Set) {
      prefix = `Set(${value.size}) `;
      parts = [...value].map(inner);
    } else if (value instanceof Error) {
      const text = value.stack ? `${value}\n${value.stack}` : `[${value}]`;
      const rest = keys.filter(key => !["line", "column", "sourceURL", "stack"].includes(key));
      if (!rest.length) { seen.pop(); return text; }
      prefix = text + " ";
      keys.splice(0, keys.length, ...rest);
    } else if (value instanceof Promise) {
      prefix = "Promise ";
    } else if (types.isBoxedPrimitive(value)) {
      prefix = `[${name}: ${shown(value.valueOf(), level + 1)}] `;
    }
    if (sorted) keys.sort();
    for (const key of keys) {
      const property = Object.getOwnPropertyDescriptor(value, key);
      parts.push(`${keyText(key)}: ${property?.get ? property.set ? "[Getter/Setter]" : "[Getter]" : inner(value[key])}`);
    }
    seen.pop();
    if (!parts.length) return types.isBoxedPrimitive(value) || value instanceof Error ? prefix.trim() : prefix + open + close;
    const line = `${prefix}${open} ${parts.join(", ")} ${close}`;
    if (line.length + level * 2 <= breakLength && !parts.some(part => part.includes("\n")) && compact !== false) return line;
    const indent = "  ".repeat(level + 1);
    return `${prefix}${open}\n${indent}${parts.join(",\n" + indent)}\n${"  ".repeat(level)}${close}`;
  }
  return shown(value, 0);
}
inspect.custom = custom;
inspect.defaultOptions = {};
inspect.colors = {};
inspect.styles = {};
function formatWithOptions(options, ...values) {
  const text = value => typeof value === "string" ? value : inspect(value, options);
  if (typeof values[0] !== "string") return values.map(text).join(" ");
  let at = 1;
  const head = values[0].replace(/%[sdifjoOc%]/g, form => {
    if (form === "%%") return "%";
    if (at >= values.length) return form;
    const value = values[at++];
    switch (form) {
      case "%s": return typeof value === "string" || typeof value === "object" && value !== null && !Array.isArray(value) && Object.hasOwn(value, "toString") ? String(value) : typeof value === "object" && value !== null ? inspect(value, { depth: 0 }) : typeof value === "bigint" ? `${value}n` : String(value);
      case "%d": return typeof value === "object" ? "NaN" : typeof value === "bigint" ? `${value}n` : String(Number(value));
      case "%i": return String(parseInt(value, 10));
      case "%f": return String(parseFloat(value));
      case "%j": try { return JSON.stringify(value); } catch { return "[Circular]"; }
      case "%c": return "";
      default: return inspect(value, options);
    }
  });
  return values.length > 1 || at > 1 ? [head, ...values.slice(at).map(text)].join(" ") : head.replace(/%%/g, "%");
}
const format = (...values) => formatWithOptions({}, ...values);

function isDeepEqual(a, b, strict, seen = []) {
  if (strict ? Object.is(a, b) : a === b || a == b && (typeof a !== "object" || typeof b !== "object") || a !== a && b !== b) return true;
  if (typeof a !== "object" || typeof b !== "object" || a === null || b === null) return false;
  if (strict && Object.getPrototypeOf(a) !== Object.getPrototypeOf(b)) return false;
  if (tag(a) !== tag(b) || Array.isArray(a) !== Array.isArray(b)) return false;
  if (a instanceof Date) return a.getTime() === b.getTime();
  if (a instanceof RegExp) return String(a) === String(b) && a.lastIndex === b.lastIndex;
  if (a instanceof Error && (a.name !== b.name || a.message !== b.message)) return false;
  if (typeof a._bsontype === "string") return a._bsontype === b._bsontype && String(a) === String(b);
  if (types.isBoxedPrimitive(a) && !Object.is(a.valueOf(), b.valueOf())) return false;
  if (seen.some(([x, y]) => x === a && y === b)) return true;
  seen = [...seen, [a, b]];
  const same = (x, y) => isDeepEqual(x, y, strict, seen);
  if (ArrayBuffer.isView(a)) return a.byteLength === b.byteLength && Array.from(a).every((x, i) => Object.is(x, b[i]));
  if (a instanceof Set) return a.size === b.size && [...a].every(x => b.has(x) || [...b].some(y => same(x, y)));
  if (a instanceof Map) return a.size === b.size && [...a].every(([key, x]) => b.has(key) ? same(x, b.get(key)) : [...b].some(([other, y]) => same(key, other) && same(x, y)));
  const keys = Object.keys(a);
  return keys.length === Object.keys(b).length && keys.every(key => Object.hasOwn(b, key) && same(a[key], b[key]));
}

function promisify(original) {
  if (typeof original !== "function") throw Object.assign(new TypeError('The "original" argument must be of type function'),
    { code: "ERR_INVALID_ARG_TYPE" });
  if (original[promisified]) return original[promisified];
  function promise(...args) {
    return new Promise((resolve, reject) => original.call(this, ...args, (error, value) => error ? reject(error) : resolve(value)));
  }
  return Object.defineProperties(Object.setPrototypeOf(promise, Object.getPrototypeOf(original)), Object.getOwnPropertyDescriptors(original));
}
promisify.custom = promisified;
function callbackify(original) {
  return function (...args) {
    const done = args.pop();
    Promise.resolve(original.apply(this, args)).then(value => setTimeout(done, 0, null, value), error => setTimeout(done, 0, error));
  };
}
function inherits(type, parent) {
  Object.defineProperty(type, "super_", { value: parent, writable: true, configurable: true });
  Object.setPrototypeOf(type.prototype, parent.prototype);
}
function deprecate(body, message) {
  let isTold = false;
  return function (...args) {
    if (!isTold) { isTold = true; console.warn(`DeprecationWarning: ${message}`); }
    return new.target ? Reflect.construct(body, args, new.target) : body.apply(this, args);
  };
}
class TextEncoder {
  get encoding() { return "utf-8"; }
  encode(text = "") { return inside.toUTF8(String(text)); }
  encodeInto(text, target) {
    const bytes = this.encode(text).subarray(0, target.length);
    target.set(bytes);
    return { read: text.length, written: bytes.length };
  }
}
class TextDecoder {
  // #rest: of a stream, the bytes of a character that isn't complete.
  #encoding; #fatal; #keepsMark; #rest = new Uint8Array(); #isBegun = false;
  constructor(encoding = "utf-8", { fatal = false, ignoreBOM = false } = {}) {
    this.#encoding = { "utf8": "utf-8", "utf-8": "utf-8", "unicode-1-1-utf-8": "utf-8", "utf-16le": "utf-16le", "utf-16": "utf-16le",
      "latin1": "windows-1252", "ascii": "windows-1252", "iso-8859-1": "windows-1252" }[String(encoding).toLowerCase()];
    if (!this.#encoding) throw new RangeError(`The "${encoding}" encoding is not supported`);
    this.#fatal = fatal;
    this.#keepsMark = ignoreBOM;
  }
  get encoding() { return this.#encoding; }
  get fatal() { return this.#fatal; }
  // How many bytes of a part of a stream end with a whole character.
  #wholeCount(bytes) {
    const count = bytes.length;
    if (this.#encoding === "utf-16le") {
      const even = count - count % 2;
      return even > 0 && (bytes[even - 1] & 0xfc) === 0xd8 ? even - 2 : even;
    }
    if (this.#encoding !== "utf-8") return count;
    for (let back = 1; back <= Math.min(3, count); back++) {
      const byte = bytes[count - back], size = byte < 0xc0 ? 1 : byte < 0xe0 ? 2 : byte < 0xf0 ? 3 : 4;
      if ((byte & 0xc0) !== 0x80) return size > back ? count - back : count;
    }
    return count;
  }
  decode(bytes = new Uint8Array(), { stream = false } = {}) {
    const { Buffer } = require("buffer");
    const part = bytes instanceof ArrayBuffer ? Buffer.from(bytes) : Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
    const all = this.#rest.length > 0 ? Buffer.concat([this.#rest, part]) : part, count = stream ? this.#wholeCount(all) : all.length;
    const buffer = all.subarray(0, count), isStart = !this.#isBegun;
    this.#rest = Uint8Array.from(all.subarray(count));
    this.#isBegun = stream && (this.#isBegun || count > 0);
    const text = this.#encoding === "utf-8" ? inside.fromUTF8(buffer) : buffer.toString({ "utf-16le": "utf16le", "windows-1252": "latin1" }[this.#encoding]);
    if (this.#fatal && text.includes("\ufffd") && this.#encoding === "utf-8" && !Buffer.from(text).equals(buffer)) {
      throw Object.assign(new TypeError("The encoded data was not valid for encoding utf-8"), { code: "ERR_ENCODING_INVALID_ENCODED_DATA" });
    }
    return this.#keepsMark || !isStart ? text : text.replace(/^\ufeff/, "");
  }
}
module.exports = {
  inspect, format, formatWithOptions, types, promisify, callbackify, inherits, deprecate, TextEncoder, TextDecoder,
  isDeepStrictEqual: (a, b) => isDeepEqual(a, b, true), isDeepEqual,
  debuglog: () => Object.assign(() => {}, { enabled: false }), debug: () => Object.assign(() => {}, { enabled: false }),
  stripVTControlCharacters: text => text.replace(/\u001b\[[0-9;]*[A-Za-z]/g, ""), toUSVString: text => String(text).toWellFormed(),
  isArray: Array.isArray, isBoolean: value => typeof value === "boolean", isNull: value => value === null,
  isNullOrUndefined: value => value === null || value === undefined,
  isNumber: value => typeof value === "number", isString: value => typeof value === "string", isSymbol: value => typeof value === "symbol",
  isUndefined: value => value === undefined, isRegExp: types.isRegExp, isObject: value => value !== null && typeof value === "object",
  isDate: types.isDate,
  isError: value => value instanceof Error, isFunction: value => typeof value === "function",
  isBuffer: value => require("buffer").Buffer.isBuffer(value),
  isPrimitive: value => value === null || typeof value !== "object" && typeof value !== "function",
};
Object.defineProperty(module.exports, "isDeepEqual", { enumerable: false });

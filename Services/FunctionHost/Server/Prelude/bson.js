// `BSON` and `EJSON`: the types that JavaScript lacks, and their conversion to and from canonical Extended JSON. Numbers follow the
// Node.js driver: integers are read as numbers if they are exact; a whole number of 32 bits is written as an int, any other number
// as a double. A field that was read as a double or a long is written as such again: see `typesOf`.
const hex = bytes => Array.from(bytes, byte => byte.toString(16).padStart(2, "0")).join("");
const fromHex = text => Uint8Array.from(text.match(/../g) ?? [], pair => parseInt(pair, 16));
const alphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
function toBase64(bytes) {
  let text = "";
  for (let i = 0; i < bytes.length; i += 3) {
    const n = bytes[i] << 16 | (bytes[i + 1] ?? 0) << 8 | (bytes[i + 2] ?? 0);
    text += alphabet[n >> 18] + alphabet[n >> 12 & 63]
      + (i + 1 < bytes.length ? alphabet[n >> 6 & 63] : "=") + (i + 2 < bytes.length ? alphabet[n & 63] : "=");
  }
  return text;
}
function fromBase64(text) {
  const clean = text.replace(/-/g, "+").replace(/_/g, "/").replace(/[^A-Za-z0-9+/]/g, "");
  const bytes = new Uint8Array(clean.length * 3 >> 2);
  let n = 0, bits = 0, at = 0;
  for (const character of clean) {
    n = n << 6 | alphabet.indexOf(character);
    bits += 6;
    if (bits >= 8) { bits -= 8; bytes[at++] = n >> bits & 255; n &= (1 << bits) - 1; }
  }
  return bytes;
}
const toUTF8 = text => Uint8Array.from(unescape(encodeURIComponent(text.toWellFormed())), c => c.charCodeAt(0));
const fromUTF8 = bytes => {
  let text = "";
  for (let i = 0; i < bytes.length; i += 8192) text += String.fromCharCode(...bytes.subarray(i, i + 8192));
  try { return decodeURIComponent(escape(text)); } catch { return text; }
};
const randomBytes = count => Uint8Array.from({ length: count }, () => Math.floor(Math.random() * 256));

// Constructors that also work without `new`, as existing apps use them.
function define(name, construct, methods, statics = {}) {
  function type(...parts) {
    const self = new.target ? this : Object.create(type.prototype);
    construct(self, ...parts);
    return self;
  }
  Object.defineProperty(type, "name", { value: name });
  Object.assign(type.prototype, methods, { _bsontype: name });
  Object.defineProperty(type.prototype, "_bsontype", { enumerable: false });
  for (const key of Object.keys(methods)) Object.defineProperty(type.prototype, key, { enumerable: false });
  return Object.assign(type, statics);
}
const hidden = (object, key, value) => Object.defineProperty(object, key, { value, enumerable: false });

let counter = null;
const ObjectId = define("ObjectID", (self, id) => {
  if (id === undefined || id === null) {
    counter = ((counter ?? Math.floor(Math.random() * 0xffffff)) + 1) & 0xffffff;
    const seconds = Math.floor(Date.now() / 1000);
    id = seconds.toString(16).padStart(8, "0") + hex(randomBytes(5)) + counter.toString(16).padStart(6, "0");
  } else if (typeof id === "object") {
    id = id.toHexString ? id.toHexString() : hex(id);
  }
  if (typeof id !== "string" || !/^[0-9a-fA-F]{24}$/.test(id)) {
    throw new TypeError("an ObjectId is made of 24 hexadecimal digits, not of " + JSON.stringify(id));
  }
  hidden(self, "id", id.toLowerCase());
}, {
  toHexString() { return this.id; }, toString() { return this.id; }, toJSON() { return this.id; },
  equals(other) { return String(other) === this.id; },
  getTimestamp() { return new Date(parseInt(this.id.slice(0, 8), 16) * 1000); },
  toEJSON() { return { $oid: this.id }; },
}, { isValid: id => /^[0-9a-fA-F]{24}$/.test(String(id)), createFromHexString: id => new ObjectId(id) });

const Binary = define("Binary", (self, bytes, subtype = 0) => {
  hidden(self, "buffer", typeof bytes === "string" ? toUTF8(bytes) : Uint8Array.from(bytes ?? []));
  hidden(self, "sub_type", subtype);
}, {
  text() { return fromUTF8(this.buffer); }, toString() { return fromUTF8(this.buffer); },
  toBase64() { return toBase64(this.buffer); }, toHex() { return hex(this.buffer); },
  toJSON() { return this.toBase64(); }, length() { return this.buffer.length; }, value() { return this.buffer; },
  valueOf() { return this.buffer; },  // so that Buffer.from takes it
  toEJSON() {
    return { $binary: { base64: toBase64(this.buffer), subType: this.sub_type.toString(16).padStart(2, "0") } };
  },
}, {
  fromBase64: (text, subtype = 0) => new Binary(fromBase64(text), subtype),
  fromHex: (text, subtype = 0) => new Binary(fromHex(text), subtype),
});

const UUID = define("UUID", (self, id) => {
  if (id === undefined || id === null) {
    id = randomBytes(16);
    id[6] = id[6] & 15 | 64;
    id[8] = id[8] & 63 | 128;
  }
  const digits = (typeof id === "string" ? id : hex(id.buffer instanceof Uint8Array ? id.buffer : id)).replace(/-/g, "");
  if (!/^[0-9a-fA-F]{32}$/.test(digits)) throw new TypeError("a UUID is made of 32 hexadecimal digits");
  hidden(self, "id", digits.toLowerCase());
}, {
  toHexString() { return this.id.replace(/(.{8})(.{4})(.{4})(.{4})/, "$1-$2-$3-$4-"); },
  toString() { return this.toHexString(); }, toJSON() { return this.toHexString(); },
  equals(other) { return String(other) === this.toHexString(); },
  toEJSON() { return { $binary: { base64: toBase64(fromHex(this.id)), subType: "04" } }; },
});

const number = (name, convert, write) => define(name, (self, value) => hidden(self, "value", convert(value)), {
  valueOf() { return this.value; }, toString() { return String(this.value); }, toJSON() { return this.value; }, toEJSON() { return write(this.value); },
});
const writeDouble = value => ({ $numberDouble: Object.is(value, -0) ? "-0.0" : String(value) });
const Int32 = number("Int32", value => Number(value) | 0, value => ({ $numberInt: String(value) }));
const Double = number("Double", Number, writeDouble);
const Long = define("Long", (self, low, high) => {
  const value = typeof low === "bigint" ? low
    : high === undefined ? BigInt(typeof low === "string" ? low : Math.trunc(Number(low)))
    : BigInt(high) << 32n | BigInt(low >>> 0);
  hidden(self, "value", BigInt.asIntN(64, value));
}, {
  valueOf() { return Number(this.value); }, toString() { return String(this.value); }, toNumber() { return Number(this.value); },
  toBigInt() { return this.value; }, toJSON() { return Number(this.value); }, equals(other) { return this.value === new Long(other).value; },
  toEJSON() { return { $numberLong: String(this.value) }; },
}, { fromNumber: value => new Long(value), fromString: value => new Long(value), fromBigInt: value => new Long(value) });
const Decimal128 = define("Decimal128", (self, text) => hidden(self, "value", String(text)), {
  // When the text stands for other bits than the number's, the number's bits follow it after a colon.
  toString() { return this.value.split(":", 1)[0]; }, toJSON() { return this.toString(); },
  toEJSON() { return { $numberDecimal: this.value }; },
}, { fromString: text => new Decimal128(text) });
const Timestamp = define("Timestamp", (self, t = 0, i = 0) => { self.t = t; self.i = i; }, {
  toEJSON() { return { $timestamp: { t: this.t, i: this.i } }; },
});
const BSONRegExp = define("BSONRegExp", (self, pattern, options = "") => { self.pattern = pattern; self.options = options; }, {
  toEJSON() { return { $regularExpression: { pattern: this.pattern, options: this.options } }; },
});
const MinKey = define("MinKey", () => {}, { toEJSON() { return { $minKey: 1 }; } });
const MaxKey = define("MaxKey", () => {}, { toEJSON() { return { $maxKey: 1 }; } });
// Deprecated types that functions don't use: their values are kept unchanged.
const Opaque = define("Opaque", (self, raw) => hidden(self, "raw", raw), { toEJSON() { return this.raw; } });

const BSON = {
  ObjectId, ObjectID: ObjectId, Binary, UUID, Int32, Double, Long, Int64: Long, Decimal128, Timestamp, BSONRegExp, MinKey, MaxKey,
};

const readers = {
  $oid: v => new ObjectId(v), $numberInt: v => Number(v), $numberDouble: v => Number(v), $numberDecimal: v => new Decimal128(v),
  $numberLong: v => Number.isSafeInteger(Number(v)) ? Number(v) : new Long(v),
  // BSON has later and earlier times than JavaScript: those are kept unchanged.
  $date: (v, whole) => {
    const date = new Date(typeof v === "object" ? Number(v.$numberLong) : v);
    return Number.isNaN(date.getTime()) ? new Opaque(whole) : date;
  },
  $binary: (v, whole) => {
    const bytes = fromBase64(typeof v === "string" ? v : v.base64), subtype = parseInt(v.subType ?? whole.$type ?? "0", 16);
    return subtype === 4 && bytes.length === 16 ? new UUID(bytes) : new Binary(bytes, subtype);
  },
  $uuid: v => new UUID(v), $timestamp: v => new Timestamp(v.t, v.i), $minKey: () => new MinKey(), $maxKey: () => new MaxKey(),
  $regularExpression: v => { try { return new RegExp(v.pattern, v.options.replace(/[^ims]/g, "")); } catch { return new BSONRegExp(v.pattern, v.options); } },
  $undefined: () => undefined, $symbol: (_, whole) => new Opaque(whole), $code: (_, whole) => new Opaque(whole),
  $dbPointer: (_, whole) => new Opaque(whole),
};
// JavaScript has one type of number. So an object that was read has, under this symbol, the types of its fields that were doubles or
// longs, and an array that of its elements, and toEJSON writes a number there in that type. The symbol is enumerable, so that a copy
// by spread or Object.assign has it, too; loops over keys, JSON and Object.keys don't show it.
const typesOf = Symbol("BSON types");
const numberType = raw => {
  if (typeof raw !== "object" || raw === null) return undefined;
  if (typeof raw.$numberDouble === "string") return "double";
  return typeof raw.$numberLong === "string" && Number.isSafeInteger(Number(raw.$numberLong)) ? "long" : undefined;
};
// An array's elements change places, so a type is kept for all of them, or none.
const elementType = raw => {
  const type = numberType(raw[0]);
  return type !== undefined && raw.every(element => numberType(element) === type) ? type : undefined;
};
const keepTypes = (from, to) => { if (from[typesOf] !== undefined) to[typesOf] = from[typesOf]; return to; };
function fromEJSON(value) {
  if (typeof value !== "object" || value === null) return value;
  if (Array.isArray(value)) {
    const type = elementType(value), elements = value.map(fromEJSON);
    if (type) elements[typesOf] = type;
    return elements;
  }
  const keys = Object.keys(value);
  if (keys.length <= 2 && keys.length > 0 && Object.hasOwn(readers, keys[0])) return readers[keys[0]](value[keys[0]], value);
  let types;
  for (const key of keys) {
    const type = numberType(value[key]);
    if (type) (types ??= Object.create(null))[key] = type;
    const converted = fromEJSON(value[key]);
    if (key === "__proto__") Object.defineProperty(value, key, { value: converted, enumerable: true, writable: true, configurable: true });
    else value[key] = converted;
  }
  if (types) value[typesOf] = types;
  return value;
}
const writeNumber = value =>
  Number.isInteger(value) && value === (value | 0) && !Object.is(value, -0) ? { $numberInt: String(value) } : writeDouble(value);
function toEJSON(value, isRelaxed = false, depth = 0, type = undefined) {
  if (depth > 200) throw new TypeError("the value is nested too deeply, or contains itself");
  switch (typeof value) {
    case "string": case "boolean": return value;
    case "number":
      if (isRelaxed && Number.isFinite(value)) return value;
      if (type === "long" && Number.isSafeInteger(value)) return { $numberLong: String(value) };
      return type === "double" ? writeDouble(value) : writeNumber(value);
    case "bigint": return { $numberLong: String(BigInt.asIntN(64, value)) };
    case "object": break;
    default: return undefined;
  }
  if (value === null) return null;
  if (Array.isArray(value)) {
    const type = value[typesOf];
    return Array.from(value, element => toEJSON(element, isRelaxed, depth + 1, type) ?? null);
  }
  if (value instanceof Date) {
    if (Number.isNaN(value.getTime())) throw new TypeError("an invalid Date can't be stored or returned");
    return { $date: isRelaxed && value.getTime() >= 0 ? value.toISOString() : { $numberLong: String(value.getTime()) } };
  }
  if (typeof value.toEJSON === "function") {
    return isRelaxed && (value instanceof Int32 || value instanceof Double || value instanceof Long) ? Number(value) : value.toEJSON();
  }
  if (value instanceof RegExp) return { $regularExpression: { pattern: value.source, options: value.flags.replace(/[^ims]/g, "") } };
  if (value instanceof Uint8Array) return new Binary(value).toEJSON();
  if (value instanceof Map) value = Object.fromEntries(value);
  if (value instanceof Set) return toEJSON([...value], isRelaxed, depth);
  const out = {}, types = value[typesOf];
  for (const key of Object.keys(value)) {
    const converted = toEJSON(value[key], isRelaxed, depth + 1, types?.[key]);
    if (converted === undefined) continue;
    if (key === "__proto__") Object.defineProperty(out, key, { value: converted, enumerable: true });
    else out[key] = converted;
  }
  return out;
}
const EJSON = {
  parse: text => fromEJSON(JSON.parse(text)),
  stringify: (value, replacer, space, options) => {
    const settings = [replacer, space, options].find(part => part && typeof part === "object" && !Array.isArray(part)) ?? {};
    return JSON.stringify(toEJSON(value, settings.relaxed !== false), null, typeof space === "object" ? undefined : space);
  },
};

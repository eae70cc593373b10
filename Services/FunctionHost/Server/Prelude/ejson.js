// `EJSON`: conversion to and from canonical Extended JSON. Numbers follow the Node.js driver: integers are read as numbers if they are
// exact; a whole number of 32 bits is written as an int, any other number as a double. A field that was read as a double or a long is
// written as such again: see `typesOf`.
const readers = lazily(() => {
  const { make } = bson(), opaque = (_, whole) => make("Opaque", whole);
  return {
    $oid: v => make("ObjectId", v), $numberDecimal: v => make("Decimal128", v),
    $numberLong: v => Number.isSafeInteger(Number(v)) ? Number(v) : make("Long", v),
    // BSON has later and earlier times than JavaScript: those are kept unchanged.
    $date: (v, whole) => {
      const date = new Date(typeof v === "object" ? Number(v.$numberLong) : v);
      return Number.isNaN(date.getTime()) ? make("Opaque", whole) : date;
    },
    $binary: (v, whole) => {
      const bytes = octets().fromBase64(typeof v === "string" ? v : v.base64);
      const subtype = parseInt(v.subType ?? whole.$type ?? "0", 16);
      return subtype === 4 && bytes.length === 16 ? make("UUID", bytes) : make("Binary", bytes, subtype);
    },
    $uuid: v => make("UUID", v), $timestamp: v => make("Timestamp", v.t, v.i), $minKey: () => make("MinKey"), $maxKey: () => make("MaxKey"),
    $regularExpression: v => {
      try { return new RegExp(v.pattern, v.options.replace(/[^ims]/g, "")); } catch { return make("BSONRegExp", v.pattern, v.options); }
    },
    $undefined: () => undefined, $symbol: opaque, $code: opaque, $dbPointer: opaque,
  };
});
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
    if (type) {
      elements[typesOf] = type;
      hasTypes = true;
    }
    return elements;
  }
  const keys = Object.keys(value);
  if (keys.length <= 2 && keys.length > 0 && keys[0].startsWith("$")) {
    const key = keys[0];
    if (key === "$numberInt" || key === "$numberDouble") return Number(value[key]);
    if (Object.hasOwn(readers(), key)) return readers()[key](value[key], value);
  }
  let types;
  for (const key of keys) {
    const type = numberType(value[key]);
    if (type) (types ??= Object.create(null))[key] = type;
    const converted = fromEJSON(value[key]);
    if (key === "__proto__") Object.defineProperty(value, key, { value: converted, enumerable: true, writable: true, configurable: true });
    else value[key] = converted;
  }
  if (types) {
    value[typesOf] = types;
    hasTypes = true;
  }
  return value;
}
const writeDouble = value => ({ $numberDouble: Object.is(value, -0) ? "-0.0" : String(value) });
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
  const prototype = Object.getPrototypeOf(value);
  if ((prototype !== Object.prototype && prototype !== null) || typeof value.toEJSON === "function") return classToEJSON(value, isRelaxed, depth);
  return fieldsToEJSON(value, isRelaxed, depth);
}
function fieldsToEJSON(value, isRelaxed, depth) {
  const out = {}, types = value[typesOf];
  for (const key of Object.keys(value)) {
    const converted = toEJSON(value[key], isRelaxed, depth + 1, types?.[key]);
    if (converted === undefined) continue;
    if (key === "__proto__") Object.defineProperty(out, key, { value: converted, enumerable: true });
    else out[key] = converted;
  }
  return out;
}
// Apart from the plain objects, so that these don't even ask for the classes, which the engine makes when they are first asked for.
function classToEJSON(value, isRelaxed, depth) {
  if (Array.isArray(value)) {
    const type = value[typesOf];
    return Array.from(value, element => toEJSON(element, isRelaxed, depth + 1, type) ?? null);
  }
  if (value instanceof Date) {
    if (Number.isNaN(value.getTime())) throw new TypeError("an invalid Date can't be stored or returned");
    return { $date: isRelaxed && value.getTime() >= 0 ? value.toISOString() : { $numberLong: String(value.getTime()) } };
  }
  if (typeof value.toEJSON === "function") {
    return isRelaxed && ["Int32", "Double", "Long"].includes(value._bsontype) ? Number(value) : value.toEJSON();
  }
  if (value instanceof RegExp) {
    // `source` is a literal of the language: an empty pattern is written as (?:) there, and slashes are escaped.
    const pattern = value.source === "(?:)" ? "" : value.source.replace(/\\([\s\S])/g, (pair, next) => next === "/" ? next : pair);
    return { $regularExpression: { pattern, options: value.flags.replace(/[^ims]/g, "") } };
  }
  if (value instanceof Uint8Array) return bson().make("Binary", value).toEJSON();
  if (value instanceof Set) return toEJSON([...value], isRelaxed, depth);
  return fieldsToEJSON(value instanceof Map ? Object.fromEntries(value) : value, isRelaxed, depth);
}
const EJSON = lazily(() => ({
  parse: text => fromEJSON(JSON.parse(text)),
  stringify: (value, replacer, space, options) => {
    const settings = [replacer, space, options].find(part => part && typeof part === "object" && !Array.isArray(part)) ?? {};
    return JSON.stringify(toEJSON(value, settings.relaxed !== false), null, typeof space === "object" ? undefined : space);
  },
}));

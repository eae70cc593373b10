// `EJSON`: conversion to and from canonical Extended JSON. Numbers follow the Node.js driver: integers are read as numbers if they are
// exact; a whole number of 32 bits is written as an int, any other number as a double, unless it is known to be of another type: see
// `typesOf` and `typeRead`.
// A regular expression that was read with options that JavaScript lacks has here what it is written as.
const writtenAs = Symbol();
const readers = lazily(() => {
  const { make } = bson(), opaque = (_, whole) => make("Opaque", whole);
  return {
    $numberDecimal: v => make("Decimal128", v),
    $numberLong: v => Number.isSafeInteger(Number(v)) ? Number(v) : make("Long", v),
    $binary: (v, whole) => {
      const bytes = octets().fromBase64(typeof v === "string" ? v : v.base64);
      const subtype = parseInt(v.subType ?? whole.$type ?? "0", 16);
      return subtype === 4 && bytes.length === 16 ? make("UUID", bytes) : make("Binary", bytes, subtype);
    },
    $uuid: v => make("UUID", v), $timestamp: v => make("Timestamp", v.t, v.i), $minKey: () => make("MinKey"), $maxKey: () => make("MaxKey"),
    $regularExpression: v => {
      try {
        const regex = new RegExp(v.pattern, v.options.replace(/[^ims]/g, ""));
        return /[^ims]/.test(v.options) ? Object.defineProperty(regex, writtenAs, { value: v }) : regex;
      } catch { return make("BSONRegExp", v.pattern, v.options); }
    },
    $undefined: () => undefined, $symbol: opaque, $code: opaque, $dbPointer: opaque,
  };
});
// BSON has later and earlier times than JavaScript: those are kept unchanged.
function readDate(value) {
  const { $date } = value, date = new (realDate ?? Date)(typeof $date === "object" ? +$date.$numberLong : $date);
  return isNaN(date.getTime()) ? bson().make("Opaque", value) : date;
}
function fromEJSON(value, name = "") {
  if (typeof value !== "object" || value === null) return value;
  if (Array.isArray(value)) return elementsFromEJSON(value, name);
  const keys = Object.keys(value);
  if (keys.length <= 2 && keys.length > 0 && keys[0].startsWith("$")) {
    const key = keys[0];
    switch (key) {
      case "$oid": return new (objectIds())(value[key]);
      case "$date": return readDate(value);
      case "$numberInt": return noted(name, +value[key], "int");
      case "$numberDouble": return noted(name, +value[key], "double");
      case "$numberLong": {
        const number = Number(value[key]);
        if (Number.isSafeInteger(number)) return noted(name, number, "long");
        noted(name, number, value);
        return readers().$numberLong(value[key]);
      }
    }
    if (Object.hasOwn(readers(), key)) return readers()[key](value[key], value);
  }
  let types;
  for (const key of keys) {
    const raw = value[key], converted = fromEJSON(raw, key);
    if (typeof converted === "number") {
      const type = numberType(raw);
      if (type) (types ??= Object.create(null))[key] = type;
    }
    if (key === "__proto__") Object.defineProperty(value, key, { value: converted, enumerable: true, writable: true, configurable: true });
    else value[key] = converted;
  }
  if (types) value[typesOf] = types;
  return value;
}
function elementsFromEJSON(elements, name) {
  let types;
  for (let index = 0; index < elements.length; index++) {
    const raw = elements[index], converted = elements[index] = fromEJSON(raw, name);
    if (typeof converted !== "number") continue;
    const type = numberType(raw);
    if (type) (types ??= new Array(elements.length).fill(undefined))[index] = type;
  }
  if (types) elements[typesOf] = typesOfElements(elements, types);
  return elements;
}
// A whole number has one decimal, as Extended JSON and its other writers have it.
const writeDouble = value => ({ $numberDouble: Object.is(value, -0) ? "-0.0" : Number.isInteger(value) ? value.toFixed(1) : String(value) });
const writeNumber = value =>
  Number.isInteger(value) && value === (value | 0) && !Object.is(value, -0) ? { $numberInt: String(value) } : writeDouble(value);
const refuseDepth = () => { throw new TypeError("the value is nested too deeply, or contains itself"); };
// JSON has no `undefined`: a condition with it, or with a function, would be left out, and the filter match more than was meant,
// even all. MongoDB refuses `undefined` as well. So the conversion knows where the conditions are, and leaves out nothing in them.
//
// The place of a value that belongs to a condition is its path there, a text. That of any other is a function that returns the
// places of what is in the value, or `undefined` if it has no condition.
const placeInside = (place, key) =>
  typeof place === "string" ? place === "" ? String(key) : `${place}.${key}` : typeof place === "function" ? place(key) : undefined;
function leaveOut(value, place) {
  const type = value instanceof Promise ? "promise" : typeof value, isOther = ["function", "symbol", "promise"].includes(type);
  // An argument that isn't there isn't a condition.
  if (typeof place !== "string" || place === "" && !isOther) return;
  const reason = isOther ? `a ${type}` : "undefined", message = `cannot compare to ${reason}: the filter's '${place}' is ${reason}`;
  throw Object.assign(new Error(message), { name: "MongoDBError", code: 2, hasErrorLabel: () => false });
}
// What a class of the app says it is written as is taken unchanged.
function checkWritten(written, place) {
  JSON.stringify(written, (key, part) => {
    if (part === undefined || typeof part === "function" || typeof part === "symbol") leaveOut(part, placeInside(place, key));
    return part;
  });
}
// - type: the type of the value's own place, if it is known.
// - name: that of the field that the value belongs to: see `typeRead`. Without it, only the places themselves tell types.
// - place: see `placeInside`.
function toEJSON(value, isRelaxed = false, depth = 0, type = undefined, name = undefined, place = undefined) {
  if (depth > 200) refuseDepth();
  switch (typeof value) {
    // Half of a surrogate pair has no UTF-8: a text that was cut within a character.
    case "string": return value.toWellFormed();
    case "boolean": return value;
    case "number": return isRelaxed && Number.isFinite(value) ? value : numberToEJSON(value, type, name);
    case "bigint":
      if (BigInt.asIntN(64, value) !== value) throw new RangeError(`the BigInt ${String(value).slice(0, 40)} has more than 64 bits`);
      return { $numberLong: String(value) };
    case "object": break;
    // `BSON.MinKey` and `BSON.MaxKey` are also used as they are.
    case "function": return Object.hasOwn(value, "toEJSON") ? value.toEJSON() : undefined;
    default: return undefined;
  }
  if (value === null) return null;
  const prototype = Object.getPrototypeOf(value);
  if ((prototype !== Object.prototype && prototype !== null) || typeof value.toEJSON === "function") {
    return classToEJSON(value, isRelaxed, depth, name, place);
  }
  return fieldsToEJSON(value, isRelaxed, depth, name, place);
}
function numberToEJSON(value, type, name) {
  if (type !== "double" && type !== "long") type = name === undefined ? undefined : typeRead(name, value);
  if (type === "double") return writeDouble(value);
  if (type === "long" && Number.isSafeInteger(value)) return { $numberLong: String(value) };
  return typeof type === "object" ? type : writeNumber(value);
}
function fieldsToEJSON(value, isRelaxed, depth, name, place) {
  const out = {}, types = value[typesOf];
  for (const key of Object.keys(value)) {
    const field = value[key], placeOfField = place === undefined ? undefined : placeInside(place, key);
    const nameOfField = name === undefined ? undefined : nameInside(name, key, field);
    const converted = toEJSON(field, isRelaxed, depth + 1, types?.[key], nameOfField, placeOfField);
    if (converted === undefined) {
      leaveOut(field, placeOfField);
      continue;
    }
    if (key === "__proto__") Object.defineProperty(out, key, { value: converted, enumerable: true });
    else out[key] = converted;
  }
  return out;
}
// Apart from the plain objects, so that these don't even ask for the classes, which the engine makes when they are first asked for.
function classToEJSON(value, isRelaxed, depth, name, place) {
  if (Array.isArray(value)) {
    const kept = value[typesOf], types = Array.isArray(kept?.types) ? typesOfChanged(value, kept) : undefined;
    return Array.from(value, (element, index) => {
      const placeOfElement = typeof place === "string" ? placeInside(place, index) : place;
      const converted = toEJSON(element, isRelaxed, depth + 1, types ? types[index] : kept, name, placeOfElement);
      if (converted === undefined) leaveOut(element, placeOfElement);
      return converted ?? null;
    });
  }
  if (value instanceof Date) {
    if (Number.isNaN(value.getTime())) throw new TypeError("an invalid Date can't be stored or returned");
    return { $date: isRelaxed && value.getTime() >= 0 ? value.toISOString() : { $numberLong: String(value.getTime()) } };
  }
  if (typeof value.toEJSON === "function") {
    if (isRelaxed && ["Int32", "Double", "Long"].includes(value._bsontype)) return toEJSON(Number(value), true);
    const written = value.toEJSON();
    if (typeof place === "string" && value._bsontype === undefined) checkWritten(written, place);
    return written;
  }
  if (value instanceof RegExp) {
    if (value[writtenAs]) return { $regularExpression: value[writtenAs] };
    // `source` is a literal of the language: an empty pattern is written as (?:) there, and slashes are escaped.
    const pattern = value.source === "(?:)" ? "" : value.source.replace(/\\([\s\S])/g, (pair, next) => next === "/" ? next : pair);
    return { $regularExpression: { pattern, options: value.flags.replace(/[^ims]/g, "") } };
  }
  if (value instanceof Uint8Array) return bson().make("Binary", value).toEJSON();
  if (value instanceof Number || value instanceof String || value instanceof Boolean || value instanceof BigInt) {
    return toEJSON(value.valueOf(), isRelaxed, depth, undefined, name);
  }
  if (value instanceof Promise) leaveOut(value, place);
  if (value instanceof Set) return toEJSON([...value], isRelaxed, depth, undefined, name, place);
  return fieldsToEJSON(value instanceof Map ? Object.fromEntries(value) : value, isRelaxed, depth, name, place);
}
const EJSON = lazily(() => {
  // What is written as one value, and not by its elements or fields.
  const isOneValue = value => typeof value.toEJSON === "function"
    || [Date, RegExp, Uint8Array, Number, String, Boolean, BigInt].some(type => value instanceof type);
  // A value as the replacer of JSON.stringify leaves it: a function, or a list of the fields to keep. It applies to the values themselves, before
  // their types are written: in the canonical form a list would leave nothing of a number but `{}`.
  function replaced(holder, key, replace, names, depth) {
    if (depth > 200) refuseDepth();
    const value = replace === undefined ? holder[key] : replace.call(holder, key, holder[key]);
    if (typeof value !== "object" || value === null) return value;
    const inside = (fields, key) => replaced(fields, key, replace, names, depth + 1);
    const elements = value instanceof Set ? [...value] : value;
    if (Array.isArray(elements)) return keepTypes(elements, Array.from(elements, (_, index) => inside(elements, String(index))));
    if (isOneValue(value)) return value;
    const fields = value instanceof Map ? Object.fromEntries(value) : value;
    const keys = names?.filter(name => Object.hasOwn(fields, name)) ?? Object.keys(fields);
    return keepTypes(fields, Object.fromEntries(keys.map(key => [key, inside(fields, key)])));
  }
  return {
    parse: text => fromEJSON(JSON.parse(text)),
    stringify: (value, replacer, space, options) => {
      const settings = [replacer, space, options].find(part => part && typeof part === "object" && !Array.isArray(part)) ?? {};
      const names = Array.isArray(replacer) ? replacer.map(String) : undefined, replace = typeof replacer === "function" ? replacer : undefined;
      const left = names || replace ? replaced({ "": value }, "", replace, names, 0) : value;
      // App Services wrote the canonical form, unlike Node's driver: the relaxed one loses types.
      return JSON.stringify(toEJSON(left, settings.relaxed === true, 0, undefined, outermost()), null, typeof space === "object" ? undefined : space);
    },
  };
});

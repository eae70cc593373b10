// JavaScript has one type of number, so the types of those that were read are kept beside them.
//
// An object that was read has, under this symbol, the types of its fields that were doubles or longs, and an array those of its elements;
// toEJSON writes a number there in that type. The symbol is enumerable, so that a copy by spread or Object.assign has it, too; loops over
// keys, JSON and Object.keys don't show it, and Object.getOwnPropertySymbols doesn't either: packages compare objects by it, such as lodash's
// isEqual, and would tell a document that was read from an equal one that wasn't.
const typesOf = Symbol("BSON types");
const hideTypes = lazily(() => {
  const { getOwnPropertySymbols: symbolsOf } = Object;
  const getOwnPropertySymbols = object => symbolsOf(object).filter(symbol => symbol !== typesOf);
  return Reflect.defineProperty(Object, "getOwnPropertySymbols", { value: getOwnPropertySymbols });
});
const numberType = raw => typeof raw.$numberDouble === "string" ? "double" : typeof raw.$numberLong === "string" ? "long" : undefined;
// What an array has under the symbol: a type if it is that of all elements, which then also new ones get; otherwise the numbers that were
// read, each with its type.
function typesOfElements(elements, types) {
  return types.every(type => type === types[0]) ? types[0]
    : { values: elements.map(element => typeof element === "number" ? element : undefined), types };
}
// The types of the elements of an array that may have changed since it was read. What is before and after the change is found by its
// place. A number in between has the type of the one that it equals, if that is only one, and else, if it has replaced another one, the
// type of its place.
function typesOfChanged(present, { values, types }) {
  const found = new Array(present.length).fill(undefined), shift = values.length - present.length, least = Math.min(values.length, present.length);
  const isSame = (a, b) => Object.is(a, typeof b === "number" ? b : undefined);
  let start = 0, end = present.length;
  for (; start < least && isSame(values[start], present[start]); start++) found[start] = types[start];
  for (; end > start && end + shift > start && isSame(values[end + shift - 1], present[end - 1]); end--) found[end - 1] = types[end + shift - 1];
  if (start === end) return found;
  const byValue = new Map(), left = new Set(present);
  values.forEach((value, place) => {
    if (value !== undefined) byValue.set(value, byValue.has(value) && byValue.get(value) !== types[place] ? undefined : types[place]);
  });
  for (let place = start; place < end; place++) {
    found[place] = byValue.has(present[place]) ? byValue.get(present[place]) : shift === 0 && !left.has(values[place]) ? types[place] : undefined;
  }
  return found;
}

// A copy may have lost its types: by map, filter or spread of an array, or by way of JSON; and a number that is taken out of its document
// has none. So the numbers that the request has read are kept, too, under the names of their fields, each with its type or, once it was
// read with several, with "several". The elements of an array belong to the array's field; what is in no document has the name "".
let numbersRead, intsRead = [];
const maximumNumbersRead = 100000;
let countOfNumbersRead = 0;
// - type: for a long beyond 2^53, itself.
function noted(name, value, type) {
  if (!hasTypes) {
    if (type === "int") {
      if (countOfNumbersRead++ < maximumNumbersRead) intsRead.push(name, value);
      return value;
    }
    noteTypes();
  }
  // Any other number is written as a double anyway; a Map doesn't tell -0 from 0.
  if (!Number.isInteger(value) || Object.is(value, -0)) return value;
  let known = numbersRead.get(name);
  if (known === undefined) numbersRead.set(name, known = new Map());
  const before = known.get(value);
  if (before === undefined) {
    if (countOfNumbersRead++ < maximumNumbersRead) known.set(value, type);
  } else if (before !== type && !(typeof type === "object" && before.$numberLong === type.$numberLong)) {
    known.set(value, "several");
  }
  return value;
}
// Ints are only looked at when a number of another type was read.
function noteTypes() {
  hasTypes = true;
  hideTypes();
  numbersRead = new Map();
  countOfNumbersRead = 0;
  for (let index = 0; index < intsRead.length; index += 2) noted(intsRead[index], intsRead[index + 1], "int");
  intsRead = undefined;
  noteInts(JSON.parse(plainArguments), "");
}
// The arguments that came as plain JSON, whose numbers are all ints, are only looked at when a number of another type was read.
function noteInts(value, name) {
  if (typeof value === "number") noted(name, value, "int");
  else if (Array.isArray(value)) for (const element of value) noteInts(element, name);
  else if (typeof value === "object" && value !== null) for (const key of Object.keys(value)) noteInts(value[key], key);
}
const typeRead = (name, value) => numbersRead.get(name)?.get(value);
// The name of what is outside of all fields; without one nothing is looked up.
const outermost = () => hasTypes ? "" : undefined;
// The name of the arguments of an effect, of which only those are looked up that are written.
const ofArguments = Symbol("arguments"), writtenArguments = ["document", "documents", "update", "replacement", "operations"];
// The name of a field inside of another one: the last of a path that isn't a place in an array. An operator's operand belongs to the
// operator's field, except for an amount.
function nameInside(name, key, value) {
  if (name === ofArguments) return writtenArguments.includes(key) && !(key === "update" && Array.isArray(value)) ? "" : undefined;
  if (key[0] === "$") return key === "$inc" || key === "$mul" ? undefined : name;
  return key.includes(".") ? key.split(".").findLast(part => !/^(\d+$|\$)/.test(part)) ?? name : key;
}
const keepTypes = (from, to) => { if (from[typesOf] !== undefined) to[typesOf] = from[typesOf]; return to; };

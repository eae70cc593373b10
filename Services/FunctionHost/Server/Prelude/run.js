// What the host calls.
// - textOfArguments: Extended JSON, or JSON if `kind` has "plain".
// - kind: has "response" for a function that gets an object for its response as the last argument, and "clock" if the host wants to know
//   whether the run reads the clock.
// - givenSeed, now: of a run that must be repeatable; otherwise empty.
async function run(name, textOfArguments, givenContext, kind, givenSeed, now) {
  textOfContext = givenContext;
  root = name;
  seed = givenSeed;
  const context = globalThis.context = makeContext(name);
  try {
    const isPlainText = kind.startsWith("plain"), args = JSON.parse(textOfArguments);
    if (isPlainText) plainArguments = textOfArguments; else readArguments(args);
    const isWatched = kind.endsWith("clock");
    if (now !== "" || isWatched) setClock(now, isWatched);
    const response = kind.includes("response") ? parts().response() : undefined;
    if (response) args.push(response);
    const result = await load(name, context)(...args);
    if (response === undefined && result === undefined) host("done", "");
    // To look at the result may be the first to read a field of an argument, and find a number whose type has to be kept.
    else if (response === undefined && !hasTypes && isPlain(result, 0) && !hasTypes) host("done", JSON.stringify(result));
    else parts().end(result, response);
  } catch (error) {
    parts().fail(error);
  }
}
// Arguments that are read from Extended JSON. The fields of a document, such as an event's, are read when the function asks for them:
// few functions ask for all.
function readArguments(args) {
  for (let index = 0; index < args.length; index++) {
    const value = args[index];
    if (typeof value !== "object" || value === null) continue;
    const names = Array.isArray(value) ? undefined : laterNames(value);
    if (names === undefined) args[index] = parts().fromEJSON(value);
    else readLater(value, names);
  }
}
// The names of a document's fields that can be read later; `undefined` if it has to be read at once, since it stands for a value, or one of
// its fields is a number, whose type the document keeps.
function laterNames(value) {
  const keys = Object.keys(value), names = [];
  if (keys.length > 0 && keys[0][0] === "$") return undefined;
  for (let index = 0; index < keys.length; index++) {
    const field = value[keys[index]];
    if (typeof field !== "object" || field === null) continue;
    for (const first in field) {
      if (first.startsWith("$number")) return undefined;
      break;
    }
    names.push(keys[index]);
  }
  return names;
}
function readLater(object, names) {
  const raw = { __proto__: null };
  for (let index = 0; index < names.length; index++) raw[names[index]] = object[names[index]];
  lazyProperties(object, names, name => parts().fromEJSON(raw[name], name), true);
}
// The engine seeds the random numbers of each realm with 32 bits: among a hundred thousand requests, two would have the same ones.
let random;
Math.random = () => (random ??= parts().randomOf(seed))();
// `Date` as the engine has made it, if the run has another clock.
let realDate;
// - start: the time that the clock of a repeatable run shows; otherwise empty.
function setClock(start, isWatched) {
  realDate = Date;
  let date;
  const make = () => date ??= parts().dateOf(realDate, start, isWatched);
  lazyProperties(globalThis, ["Date"], make, false);
  // Dates have this constructor, too: packages compare the two, and make other dates by it.
  lazyProperties(realDate.prototype, ["constructor"], make, false);
}
// Whether a value's JSON is its Extended JSON, too, with numbers that are read as JavaScript's are written, and nothing in it is to be
// awaited. It asks for what most results consist of only.
function isPlain(value, depth) {
  switch (typeof value) {
    case "string": return value.isWellFormed();
    case "boolean": return true;
    case "number": return value === (value | 0) ? value !== 0 || 1 / value > 0 : value % 1 !== 0 && value - value === 0;
    case "object": break;
    default: return false;
  }
  if (value === null) return true;
  if (depth > 100 || typeof value.then === "function") return false;
  if (Array.isArray(value)) {
    if (value.toJSON !== undefined) return false;
    for (let index = 0; index < value.length; index++) { if (!isPlain(value[index], depth + 1)) return false; }
    return true;
  }
  if (Object.getPrototypeOf(value) !== Object.prototype || typeof value.toEJSON === "function") return false;
  const keys = Object.keys(value);
  for (let index = 0; index < keys.length; index++) {
    const key = keys[index];
    if (key[0] === "$" || !isPlain(value[key], depth + 1)) return false;
  }
  return true;
}
lazyProperties(globalThis, [
  "BSON", "EJSON", "console", "utils", "require", "structuredClone", "AbortController", "AbortSignal", "Event", "EventTarget", "performance",
  "setTimeout", "setInterval", "setImmediate", "clearTimeout", "clearInterval", "clearImmediate", "atob", "btoa", "queueMicrotask",
  "Buffer", "URL", "URLSearchParams", "TextEncoder", "TextDecoder", "process", "global", "fetch",
], name => parts().globals[name](name), false);
return {
  run, unhandled: (...words) => parts().unhandled(...words), answer: (...words) => parts().answer(...words), fire: id => parts().fire(id),
  check: (name, source) => parts().check(name, source),
};

// What the host calls. See `begin` for the parameters.
async function run(name, textOfArguments, givenContext, kind, seed, now) {
  textOfContext = givenContext;
  root = name;
  if (kind.startsWith("plain")) plainArguments = textOfArguments;
  const context = globalThis.context = makeContext(name);
  try {
    const isUsual = kind === "plain " && seed === "" && now === "";
    const { args, response } = isUsual ? { args: JSON.parse(textOfArguments) } : parts().begin(textOfArguments, kind, seed, now);
    const result = await load(name, context)(...args);
    if (response === undefined && result === undefined) host("done", "");
    else if (response === undefined && !hasTypes && isPlain(result, 0)) host("done", JSON.stringify(result));
    else parts().end(result, response);
  } catch (error) {
    parts().fail(error);
  }
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

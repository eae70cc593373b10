const loaded = new Map();
let given = {}, root = "";
function load(name) {
  if (loaded.has(name)) return loaded.get(name);
  const source = host.functionSource(name);
  if (source === undefined) throw Object.assign(new Error(`function not found: '${name}'`), { failure: "FunctionNotFound" });
  const failure = host.compile("function", name, withoutImports(source));
  if (failure !== undefined) {
    const [, line, message] = /^(\d*):([^]*)$/.exec(failure);
    throw Object.assign(new SyntaxError(message.replace(/^SyntaxError: /, "")), { failure: "FunctionSyntaxError", place: { function: name, line: Number(line) } });
  }
  const value = __functions[name](makeContext(given, name));
  if (typeof value !== "function") throw new TypeError(`'${name}' must assign a function to exports`);
  loaded.set(name, value);
  return value;
}

const text = value => {
  if (typeof value === "string") return value;
  if (value instanceof Error) return value.stack ? `${value}\n${appStack(value.stack)}` : String(value);
  try { return JSON.stringify(toEJSON(value, true)) ?? String(value); } catch { return String(value); }
};
const console = Object.fromEntries(["log", "info", "warn", "error", "debug"].map(level =>
  [level, (...values) => { host.log(level, values.map(text).join(" "), new Error().stack); }]));
Object.assign(console, { dir: value => console.log(value), trace: (...values) => console.error(...values) });

let timers = 0;
const waiting = new Map();
function start(id, milliseconds, body) {
  waiting.set(id, body);
  host.setTimer(String(id), String(Math.max(0, Number(milliseconds) || 0)));
  return id;
}
const setTimeout = (body, milliseconds = 0, ...args) => start(++timers, milliseconds, () => body(...args));
const setImmediate = (body, ...args) => setTimeout(body, 0, ...args);
function setInterval(body, milliseconds = 0, ...args) {
  const id = ++timers, again = () => { start(id, Math.max(1, milliseconds), again); body(...args); };
  return start(id, Math.max(1, milliseconds), again);
}
function clearTimeout(id) { if (waiting.delete(id)) host.clearTimer(String(id)); }

function seedRandom(seed) {
  let state = seed >>> 0 || 1;  // mulberry32
  Math.random = () => {
    state = state + 0x6d2b79f5 | 0;
    let t = Math.imul(state ^ state >>> 15, 1 | state);
    t = t + Math.imul(t ^ t >>> 7, 61 | t) ^ t;
    return ((t ^ t >>> 14) >>> 0) / 4294967296;
  };
}
// The clock of a repeatable run advances with its readings, by a millisecond per thousand, so that a loop that waits for a time
// ends.
function freezeClock(start) {
  let readings = 0;
  const now = () => start + Math.floor(readings++ / 1000), RealDate = Date;
  globalThis.Date = new Proxy(RealDate, {
    construct: (target, args, self) => Reflect.construct(target, args.length ? args : [now()], self === globalThis.Date ? target : self),
    apply: () => new RealDate(now()).toString(),
    get: (target, key) => key === "now" ? now : target[key],
  });
}

// Where in a package an error was thrown; empty for one of the app's own source, which the place of the failure names.
function placeInPackage(stack) {
  const [, path, line] = /^[^\n]*@\/node_modules\/([^\n]+?):(\d+):\d+(?:\n|$)/.exec(appStack(String(stack ?? ""))) ?? [];
  return path ? ` (node_modules/${path}:${line})` : "";
}
function describe(error) {
  if (!(error instanceof Error)) return { code: "FunctionExecutionError", message: text(error) };
  const message = error.name === "Error" ? error.message : `${error.name}: ${error.message}`;
  return {
    code: error.failure ?? "FunctionExecutionError", message: message + placeInPackage(error.stack), stack: appStack(error.stack), ...error.place,
  };
}

// Random bytes that can't be predicted. A run that must be repeatable asks its parent for a key, which the parent answers in the same
// way when the run is repeated.
let randomKey, drawn = 0;
function secureBytes(count) {
  if (!isRepeatable) return operate("random", String(count));
  randomKey ??= host.randomKey(String(ordinal++));
  const bytes = new Uint8Array(count);
  for (let at = 0; at < count; at += 32) {
    bytes.set(operate("hmac", "sha256", toBase64(toUTF8(String(drawn++))), randomKey).subarray(0, count - at), at);
  }
  return bytes;
}
let isRepeatable = false;
const atob = text => {
  const clean = String(text).replace(/[\t\n\f\r ]/g, "");
  if (!/^[A-Za-z0-9+/]*={0,2}$/.test(clean) || clean.replace(/=+$/, "").length % 4 === 1) throw new Error("the text isn't Base64");
  return Array.from(fromBase64(clean), byte => String.fromCharCode(byte)).join("");
};
const btoa = text => toBase64(Uint8Array.from(String(text), character => {
  if (character.charCodeAt(0) > 255) throw new Error("btoa takes characters up to U+00FF");
  return character.charCodeAt(0);
}));
const inside = {
  operate, toBase64, fromBase64, toUTF8, fromUTF8, secureBytes, atob, btoa, request: (method, request) => asking(root)("http", method, request),
};

Object.assign(globalThis, {
  BSON, EJSON, console, utils, structuredClone, AbortController, AbortSignal, Event, EventTarget, performance, setTimeout, setInterval, setImmediate, clearTimeout, atob, btoa, global: globalThis,
  clearInterval: clearTimeout, clearImmediate: clearTimeout, queueMicrotask: body => { Promise.resolve().then(body); },
  require: requireFrom("/", undefined),
});
missing(globalThis, "globalThis", ["fetch"]);
// It would stop the thread, which other calls share, without using CPU time.
missing(Atomics, "Atomics", ["wait"]);
// What is made when it is first used.
const lazily = { Buffer: "buffer", URL: "url", URLSearchParams: "url", TextEncoder: "util", TextDecoder: "util", process: "process" };
for (const [name, module] of Object.entries(lazily)) {
  const set = value => Object.defineProperty(globalThis, name, { value, writable: true, configurable: true });
  Object.defineProperty(globalThis, name, {
    configurable: true, set,
    get: () => {
      const exported = loadModule(resolve(module, "/"), undefined);
      set(name === "process" ? exported : exported[name]);
      return globalThis[name];
    },
  });
}
globalThis.__check = (name, source) => { host.compile("function", name, withoutImports(source)); };
globalThis.__run = textOfCall => {
  const call = JSON.parse(textOfCall);
  if (call.seed !== undefined) seedRandom(Number(call.seed.$numberLong));
  if (call.now !== undefined) freezeClock(Number(call.now.$numberLong));
  given = fromEJSON(call.context);
  root = call.function;
  isRepeatable = call.seed !== undefined;
  globalThis.context = makeContext(given, call.function);
  const args = fromEJSON(call.arguments);
  const response = call.response === true ? new Response() : undefined;
  if (response) args.push(response);
  const run = async () => {
    const result = await settled(await load(call.function)(...args));
    return response ? { result, response: response.document() } : result;
  };
  run().then(
    value => host.done(value === undefined ? "" : JSON.stringify(toEJSON(value)) ?? ""),
  ).catch(error => host.failed(JSON.stringify(describe(error))));
};
globalThis.__answer = answer;
// The engine calls this for a promise that was rejected and that nothing waits for.
globalThis.__unhandled = (_, reason) => {
  const failure = describe(reason);
  host.log("error", `an operation that isn't awaited failed: ${failure.message}`, failure.stack ?? "");
};
globalThis.__fire = id => { const body = waiting.get(Number(id)); waiting.delete(Number(id)); body?.(); };

const host = { effect: __effect, log: __log, done: __done, failed: __failed, setTimer: __setTimer, clearTimer: __clearTimer, crypto: __crypto };
// Functions use these only through their context.
for (const name of ["__effect", "__log", "__done", "__failed", "__setTimer", "__clearTimer", "__crypto"]) delete globalThis[name];
const loaded = new Map();
let given = {};
function load(name) {
  if (loaded.has(name)) return loaded.get(name);
  if (!Object.hasOwn(__functions, name)) throw Object.assign(new Error(`function not found: '${name}'`), { failure: "FunctionNotFound" });
  const value = __functions[name](makeContext(given, name));
  if (typeof value !== "function") throw new TypeError(`'${name}' must assign a function to exports`);
  loaded.set(name, value);
  return value;
}

const text = value => {
  if (typeof value === "string") return value;
  if (value instanceof Error) return value.stack ? `${value}\n${value.stack}` : String(value);
  try { return JSON.stringify(toEJSON(value, true)) ?? String(value); } catch { return String(value); }
};
const console = Object.fromEntries(["log", "info", "warn", "error", "debug"].map(level =>
  [level, (...values) => { host.log(level, values.map(text).join(" "), new Error().stack); }]));

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

function describe(error) {
  if (!(error instanceof Error)) return { code: "FunctionExecutionError", message: text(error) };
  return {
    code: error.failure ?? "FunctionExecutionError", message: error.name === "Error" ? error.message : `${error.name}: ${error.message}`,
    stack: error.stack,
  };
}

Object.assign(globalThis, {
  BSON, EJSON, Buffer, console, utils, setTimeout, setInterval, setImmediate, clearTimeout,
  clearInterval: clearTimeout, clearImmediate: clearTimeout, queueMicrotask: body => { Promise.resolve().then(body); },
});
missing(globalThis, "globalThis", ["fetch"]);
globalThis.require = name => { throw new Error(`require("${name}") is not supported: no packages are installed`); };
globalThis.__run = textOfCall => {
  const call = JSON.parse(textOfCall);
  if (call.seed !== undefined) seedRandom(Number(call.seed.$numberLong));
  if (call.now !== undefined) freezeClock(Number(call.now.$numberLong));
  given = fromEJSON(call.context);
  globalThis.context = makeContext(given, call.function);
  const args = fromEJSON(call.arguments);
  (async () => settled(await load(call.function)(...args)))().then(
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

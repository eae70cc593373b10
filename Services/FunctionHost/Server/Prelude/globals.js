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
function setTimeout(body, milliseconds = 0, ...args) {
  waiting.set(++timers, () => body(...args));
  host.setTimer(String(timers), String(Math.max(0, Number(milliseconds) || 0)));
  return timers;
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

Object.assign(globalThis, { BSON, EJSON, Buffer, console, setTimeout, clearTimeout, utils });
missing(globalThis, "globalThis", ["fetch", "setInterval", "setImmediate"]);
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
globalThis.__fire = id => { const body = waiting.get(Number(id)); waiting.delete(Number(id)); body?.(); };

// `setTimeout` and so on: the host has the clock.
let last = 0;
const waiting = new Map();
function start(id, milliseconds, body) {
  waiting.set(id, body);
  host("setTimer", String(id), String(Math.max(0, Number(milliseconds) || 0)));
  return id;
}
// What Node gives for a timer. A run always waits for its timers.
class Timeout {
  #id;
  constructor(id) { this.#id = id; }
  ref() { return this; }
  unref() { return this; }
  hasRef() { return waiting.has(this.#id); }
  close() { clearTimeout(this.#id); return this; }
  [Symbol.toPrimitive]() { return this.#id; }
}
const setTimeout = (body, milliseconds = 0, ...args) => new Timeout(start(++last, milliseconds, () => body(...args)));
const setImmediate = (body, ...args) => setTimeout(body, 0, ...args);
function setInterval(body, milliseconds = 0, ...args) {
  const id = ++last, again = () => { start(id, Math.max(1, milliseconds), again); body(...args); };
  return new Timeout(start(id, Math.max(1, milliseconds), again));
}
function clearTimeout(timer) {
  const id = timer === null || typeof timer === "symbol" ? NaN : Number(timer);
  if (waiting.delete(id)) host("clearTimer", String(id));
}
const promisified = Symbol.for("nodejs.util.promisify.custom");
const hide = (body, promise) => { Object.defineProperty(body, promisified, { value: promise }); };
hide(setTimeout, (milliseconds, value) => new Promise(resolve => setTimeout(resolve, milliseconds, value)));
hide(setImmediate, value => new Promise(resolve => setImmediate(resolve, value)));
const fire = id => { const body = waiting.get(Number(id)); waiting.delete(Number(id)); body?.(); };
return { setTimeout, setInterval, setImmediate, clearTimeout, clearInterval: clearTimeout, clearImmediate: clearTimeout, fire };

// `setTimeout` and so on: the host has the clock.
let last = 0;
const waiting = new Map();
function start(timer) {
  waiting.set(timer.id, timer);
  host("setTimer", String(timer.id), String(timer.delay));
}
function clear(timer) {
  if (timer === undefined) return;
  timer.isCleared = true;
  if (waiting.delete(timer.id)) host("clearTimer", String(timer.id));
}
// What Node gives for a timer. A run always waits for its timers.
class Timeout {
  #timer;
  constructor(delay, makeBody) {
    const timer = this.#timer = { id: ++last, delay: Math.max(0, Number(delay) || 0), isCleared: false };
    timer.body = makeBody(timer);
    start(timer);
  }
  ref() { return this; }
  unref() { return this; }
  hasRef() { return waiting.has(this.#timer.id); }
  // Waits for the whole time once more, also when it has run already.
  refresh() { if (!this.#timer.isCleared) start(this.#timer); return this; }
  close() { clear(this.#timer); return this; }
  [Symbol.toPrimitive]() { return this.#timer.id; }
}
const setTimeout = (body, milliseconds = 0, ...args) => new Timeout(milliseconds, () => () => body(...args));
const setImmediate = (body, ...args) => setTimeout(body, 0, ...args);
const setInterval = (body, milliseconds = 0, ...args) =>
  new Timeout(Math.max(1, milliseconds), timer => () => { start(timer); body(...args); });
function clearTimeout(timer) {
  if (timer instanceof Timeout) timer.close();
  else if (timer !== null && typeof timer !== "symbol") clear(waiting.get(Number(timer)));
}
const promisified = Symbol.for("nodejs.util.promisify.custom");
const hide = (body, promise) => { Object.defineProperty(body, promisified, { value: promise }); };
hide(setTimeout, (milliseconds, value) => new Promise(resolve => setTimeout(resolve, milliseconds, value)));
hide(setImmediate, value => new Promise(resolve => setImmediate(resolve, value)));
function fire(id) {
  const timer = waiting.get(Number(id));
  waiting.delete(Number(id));
  timer?.body();
}
return { setTimeout, setInterval, setImmediate, clearTimeout, clearInterval: clearTimeout, clearImmediate: clearTimeout, fire };

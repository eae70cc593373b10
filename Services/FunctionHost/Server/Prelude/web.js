// What the web and Node have besides the language, as far as it only computes.
function structuredClone(value, options) {
  if (options?.transfer?.length) throw new Error("structuredClone can't transfer objects: nothing here has another thread");
  const clones = new Map();
  const refuse = what => { throw Object.assign(new Error(`${what} could not be cloned.`), { name: "DataCloneError", code: 25 }); };
  const clone = value => {
    if (typeof value === "function" || typeof value === "symbol") refuse(String(value));
    if (typeof value !== "object" || value === null) return value;
    if (clones.has(value)) return clones.get(value);
    const keep = copy => { clones.set(value, copy); return copy; };
    if (Array.isArray(value)) {
      const copy = keep(new Array(value.length));
      for (const key of Object.keys(value)) copy[key] = clone(value[key]);
      return keepTypes(value, copy);
    }
    switch (Object.prototype.toString.call(value)) {
      case "[object Date]": return keep(new Date(value.getTime()));
      case "[object RegExp]": return keep(new RegExp(value.source, value.flags));
      case "[object Boolean]": case "[object Number]": case "[object String]": case "[object BigInt]": return keep(Object(value.valueOf()));
      case "[object ArrayBuffer]": return keep(value.slice(0));
      case "[object Map]": {
        const copy = keep(new Map());
        for (const [key, element] of value) copy.set(clone(key), clone(element));
        return copy;
      }
      case "[object Set]": {
        const copy = keep(new Set());
        for (const element of value) copy.add(clone(element));
        return copy;
      }
      case "[object Promise]": case "[object WeakMap]": case "[object WeakSet]": case "[object WeakRef]": return refuse(`#<${value.constructor.name}>`);
    }
    if (ArrayBuffer.isView(value)) {
      const bytes = clone(value.buffer);
      return keep(value instanceof DataView ? new DataView(bytes, value.byteOffset, value.byteLength)
        : new (Object.getPrototypeOf(value).constructor === value.constructor && value.constructor.BYTES_PER_ELEMENT ? value.constructor : Uint8Array)(bytes, value.byteOffset, value.length));
    }
    if (value instanceof Error) {
      const constructors = { EvalError, RangeError, ReferenceError, SyntaxError, TypeError, URIError };
      const copy = keep(new (constructors[value.name] ?? Error)(value.message));
      Object.defineProperty(copy, "stack", { value: value.stack, writable: true, configurable: true });
      if (Object.hasOwn(value, "cause")) copy.cause = clone(value.cause);
      return copy;
    }
    // The values of documents never change, and their classes aren't those of the web, where they would lose them.
    if (value._bsontype !== undefined) return keep(value);
    const copy = keep({});
    // An assignment to `__proto__` would make no field.
    for (const key of Object.keys(value))
      Object.defineProperty(copy, key, { value: clone(value[key]), enumerable: true, writable: true, configurable: true });
    return keepTypes(value, copy);
  };
  return clone(value);
}

class Event {
  constructor(type, { cancelable = false } = {}) { Object.assign(this, { type: String(type), cancelable, defaultPrevented: false, target: null }); }
  preventDefault() { if (this.cancelable) this.defaultPrevented = true; }
}
class EventTarget {
  #listeners = new Map();
  addEventListener(type, listener, options) {
    if (listener === null || listener === undefined) return;
    const all = this.#listeners.get(type) ?? [];
    if (all.some(known => known.listener === listener)) return;
    this.#listeners.set(type, [...all, { listener, once: options?.once === true }]);
    options?.signal?.addEventListener("abort", () => this.removeEventListener(type, listener));
  }
  removeEventListener(type, listener) {
    this.#listeners.set(type, (this.#listeners.get(type) ?? []).filter(known => known.listener !== listener));
  }
  dispatchEvent(event) {
    event.target = this;
    for (const { listener, once } of this.#listeners.get(event.type) ?? []) {
      if (once) this.removeEventListener(event.type, listener);
      // One that fails doesn't keep the others from being called.
      try { typeof listener === "function" ? listener.call(this, event) : listener.handleEvent(event); } catch (error) { output().console.error(error); }
    }
    return !event.defaultPrevented;
  }
}
const abortion = (message, name) => Object.assign(new Error(message), { name, code: name === "AbortError" ? 20 : 23 });
class AbortSignal extends EventTarget {
  aborted = false;
  reason = undefined;
  onabort = null;
  throwIfAborted() { if (this.aborted) throw this.reason; }
  static abort(reason = abortion("This operation was aborted", "AbortError")) { return aborting(new AbortSignal(), reason); }
  static timeout(milliseconds) {
    const signal = new AbortSignal();
    timers().setTimeout(() => aborting(signal, abortion("The operation was aborted due to timeout", "TimeoutError")), milliseconds);
    return signal;
  }
  static any(signals) {
    const signal = new AbortSignal();
    for (const one of signals) {
      if (one.aborted) return aborting(signal, one.reason);
      one.addEventListener("abort", () => aborting(signal, one.reason));
    }
    return signal;
  }
}
function aborting(signal, reason) {
  if (signal.aborted) return signal;
  Object.assign(signal, { aborted: true, reason });
  const event = new Event("abort");
  signal.onabort?.(event);
  signal.dispatchEvent(event);
  return signal;
}
class AbortController {
  signal = new AbortSignal();
  abort(reason = abortion("This operation was aborted", "AbortError")) { aborting(this.signal, reason); }
}

// By the clock that the function sees: in a run that must be repeatable, the same each time.
let performanceStart;
const performance = {
  get timeOrigin() { return performanceStart ??= Date.now(); },
  now() { return Date.now() - this.timeOrigin; },
  mark() {}, measure() {}, clearMarks() {}, clearMeasures() {}, getEntries: () => [], getEntriesByName: () => [], getEntriesByType: () => [],
  toJSON() { return { timeOrigin: this.timeOrigin }; },
};
return { structuredClone, Event, EventTarget, AbortSignal, AbortController, performance };

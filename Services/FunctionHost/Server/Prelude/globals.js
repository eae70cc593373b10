// The globals besides the language's, by their names: each is made when it is first used.
const fromTimers = name => timers()[name], fromWeb = name => web()[name], fromModules = name => modules()[name], fromInside = name => inside()[name];
const fromNode = module => name => name === module ? modules().loadGlobal(module) : modules().loadGlobal(module)[name];
const fromURL = fromNode("url"), fromUtil = fromNode("util");
const globals = {
  BSON: () => bson().BSON(), EJSON, console: () => output().console, utils: () => crypto().utils, require: fromModules,
  structuredClone: fromWeb, AbortController: fromWeb, AbortSignal: fromWeb, Event: fromWeb, EventTarget: fromWeb, performance: fromWeb,
  setTimeout: fromTimers, setInterval: fromTimers, setImmediate: fromTimers, clearTimeout: fromTimers, clearInterval: fromTimers, clearImmediate: fromTimers,
  atob: fromInside, btoa: fromInside, queueMicrotask: () => body => { Promise.resolve().then(body); },
  Buffer: fromNode("buffer"), URL: fromURL, URLSearchParams: fromURL, TextEncoder: fromUtil, TextDecoder: fromUtil, process: fromNode("process"),
  global: () => globalThis, fetch: () => missing({}, "globalThis", ["fetch"]).fetch,
};

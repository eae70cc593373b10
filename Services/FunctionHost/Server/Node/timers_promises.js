// Timers as promises and iterators.
const abortion = signal => Object.assign(new Error("The operation was aborted"), { name: "AbortError", code: "ABORT_ERR", cause: signal.reason });
function waiting(start, stop, value, signal) {
  return new Promise((resolve, reject) => {
    if (signal?.aborted) return reject(abortion(signal));
    const abort = () => { stop(id); reject(abortion(signal)); };
    const id = start(() => { signal?.removeEventListener("abort", abort); resolve(value); });
    signal?.addEventListener("abort", abort, { once: true });
  });
}
const wait = (milliseconds, value, { signal } = {}) => waiting(done => setTimeout(done, milliseconds), clearTimeout, value, signal);
const waitImmediate = (value, { signal } = {}) => waiting(done => setImmediate(done), clearImmediate, value, signal);
async function* repeat(milliseconds, value, { signal } = {}) {
  for (;;) yield await wait(milliseconds, value, { signal });
}
module.exports = {
  setTimeout: wait, setImmediate: waitImmediate, setInterval: repeat,
  scheduler: { wait: (milliseconds, options) => wait(milliseconds, undefined, options), yield: () => waitImmediate() },
};

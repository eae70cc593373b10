// `pipeline` and `finished` as promises.
const stream = require("stream"), { Readable } = stream;
const isStream = value => typeof value?.pipe === "function" || typeof value?.write === "function";
const isIterable = value => typeof value?.[Symbol.asyncIterator] === "function" || typeof value?.[Symbol.iterator] === "function";
const abortion = () => Object.assign(new Error("The operation was aborted"), { name: "AbortError", code: "ABORT_ERR" });
const piped = streams => new Promise((resolve, reject) => stream.pipeline(...streams, error => error ? reject(error) : resolve()));
const aborted = signal => new Promise((_, reject) => {
  if (signal.aborted) return reject(abortion());
  signal.addEventListener("abort", () => reject(abortion()), { once: true });
});
// Node's own pipelines take iterables and functions, too; those of the package take streams only. So what a function returns begins
// another one.
async function pipeline(...steps) {
  if (steps.length === 1 && Array.isArray(steps[0])) steps = steps[0];
  const { signal } = isStream(steps.at(-1)) || isIterable(steps.at(-1)) || typeof steps.at(-1) === "function" ? {} : steps.pop();
  const pipelines = [[]];
  let result;
  steps.forEach((step, index) => {
    if (isStream(step)) return pipelines.at(-1).push(step);
    const value = typeof step === "function" ? step(pipelines.at(-1).at(-1)) : step;
    if (isStream(value) || isIterable(value)) return pipelines.push([isStream(value) ? value : Readable.from(value)]);
    if (index < steps.length - 1 || typeof value?.then !== "function") {
      throw Object.assign(new TypeError("a step of a pipeline must be a stream, an iterable, or a function that returns one or, as the last, a promise"),
        { code: "ERR_INVALID_RETURN_VALUE" });
    }
    result = value;
  });
  try {
    const all = Promise.all([result, ...pipelines.filter(streams => streams.length > 1).map(piped)]);
    return (await (signal ? Promise.race([all, aborted(signal)]) : all))[0];
  } catch (error) {
    for (const one of pipelines.flat()) one.destroy?.();
    throw error;
  }
}
const finished = (one, options = {}) => new Promise((resolve, reject) => stream.finished(one, options, error => error ? reject(error) : resolve()));
module.exports = { finished, pipeline };

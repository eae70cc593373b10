// How a run begins and ends that needs more than `run` itself has.
function stateOf(seed) {
  if (seed === "") return new Int32Array(octets().randomBytes(16).buffer, 0, 4);
  const wide = BigInt.asUintN(64, BigInt(seed));
  return [Number(wide & 0xffffffffn) | 0, Number(wide >> 32n) | 0, 0x9e3779b9 | 0, 1];
}
function randomOf(seed) {
  // sfc32: its 128 bits of state keep the ObjectIds of many runs apart.
  let [a, b, c, count] = stateOf(seed);
  const next = () => {
    const sum = (a + b | 0) + count | 0;
    count = count + 1 | 0;
    a = b ^ b >>> 9;
    b = c + (c << 3) | 0;
    c = (c << 21 | c >>> 11) + sum | 0;
    return sum >>> 0;
  };
  for (let round = 0; round < 12; round++) next();
  return () => ((next() >>> 5) * 2 ** 26 + (next() >>> 6)) / 2 ** 53;
}
// The clock of a repeatable run advances with its readings, by a millisecond per thousand, so that a loop that waits for a time
// ends.
function frozenClock(start) {
  let readings = 0;
  return () => start + Math.floor(readings++ / 1000);
}
// Tells the host when the run reads the clock for the first time.
function watchedClock(clock) {
  let isRead = false;
  return () => {
    if (!isRead) host("clockRead");
    isRead = true;
    return clock();
  };
}
// `Date` with another clock: see `setClock`.
function dateOf(RealDate, start, isWatched) {
  const clock = start === "" ? RealDate.now : frozenClock(Number(start)), now = isWatched ? watchedClock(clock) : clock;
  const date = new Proxy(RealDate, {
    construct: (target, args, self) => Reflect.construct(target, args.length ? args : [now()], self === date ? target : self),
    apply: () => new RealDate(now()).toString(),
    get: (target, key) => key === "now" ? now : target[key],
  });
  return date;
}
const response = () => new (responses().Response)();
function end(result, response) {
  if (isSettled(result)) done(result, response); else settled(result).then(result => done(result, response)).catch(fail);
}
function done(result, response) {
  const value = toEJSON(result, false, 0, undefined, outermost());
  host("done", JSON.stringify(response ? { result: value, response: toEJSON(response.document()) } : value) ?? "");
}
const wellFormed = (_, value) => typeof value === "string" ? value.toWellFormed() : value;
// What an app throws may be anything: also what throws when it is looked at.
function described(error) {
  try {
    const failure = output().describe(error);
    return { ...failure, message: String(failure.message) };
  } catch {
    return { code: "FunctionExecutionError", message: "the function threw a value that can't be read as a text" };
  }
}
function fail(error) { host("failed", JSON.stringify(described(error), wellFormed)); }
// The engine calls this for a promise that was rejected and that nothing waits for.
function unhandled(_, reason) {
  const failure = described(reason);
  const place = failure.function ? `throw@${failure.function}:${failure.line ?? 0}:0` : "";
  host("log", "error", `an operation that isn't awaited failed: ${failure.message}`, failure.stack ?? place);
}
const answer = (...words) => effects().answer(...words), fire = id => timers().fire(id);
const check = (name, source) => host("compile", "function", name, modules().withoutImports(source));
return { contents, compile, globals, fromEJSON, randomOf, dateOf, response, end, fail, unhandled, answer, fire, check };

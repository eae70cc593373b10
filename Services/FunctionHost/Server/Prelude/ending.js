// How a run begins and ends that needs more than `run` itself has.
function seedRandom(seed) {
  // sfc32: its 128 bits of state keep the ObjectIds of many runs apart.
  const wide = BigInt.asUintN(64, BigInt(seed));
  let a = Number(wide & 0xffffffffn) | 0, b = Number(wide >> 32n) | 0, c = 0x9e3779b9 | 0, count = 1;
  const next = () => {
    const sum = (a + b | 0) + count | 0;
    count = count + 1 | 0;
    a = b ^ b >>> 9;
    b = c + (c << 3) | 0;
    c = (c << 21 | c >>> 11) + sum | 0;
    return sum >>> 0;
  };
  for (let round = 0; round < 12; round++) next();
  Math.random = () => next() / 4294967296;
}
// The clock of a repeatable run advances with its readings, by a millisecond per thousand, so that a loop that waits for a time
// ends.
function freezeClock(start) {
  let readings = 0;
  setClock(() => start + Math.floor(readings++ / 1000));
}
// Tells the host when the run reads the clock for the first time.
function watchClock() {
  const { now } = Date;
  let isRead = false;
  setClock(() => {
    if (!isRead) host("clockRead");
    isRead = true;
    return now();
  });
}
function setClock(now) {
  const RealDate = Date;
  globalThis.Date = new Proxy(RealDate, {
    construct: (target, args, self) => Reflect.construct(target, args.length ? args : [now()], self === globalThis.Date ? target : self),
    apply: () => new RealDate(now()).toString(),
    get: (target, key) => key === "now" ? now : target[key],
  });
}
// - textOfArguments: Extended JSON, or JSON if `kind` has "plain".
// - seed, now: of a run that must be repeatable; otherwise empty.
// - kind: has "response" for a function that gets an object for its response as the last argument, and "clock" if the host wants to know
//   whether the run reads the clock.
function begin(textOfArguments, kind, seed, now) {
  if (seed !== "") {
    isRepeatable = true;
    seedRandom(seed);
  }
  if (now !== "") freezeClock(Number(now));
  if (kind.includes("clock")) watchClock();
  let args = JSON.parse(textOfArguments);
  if (!kind.includes("plain")) args = fromEJSON(args);
  const response = kind.includes("response") ? new (responses().Response)() : undefined;
  if (response) args.push(response);
  return { args, response };
}
function end(result, response) {
  if (isSettled(result)) done(result, response); else settled(result).then(result => done(result, response)).catch(fail);
}
function done(result, response) {
  const value = toEJSON(result, false, 0, undefined, outermost());
  host("done", JSON.stringify(response ? { result: value, response: toEJSON(response.document()) } : value) ?? "");
}
const wellFormed = (_, value) => typeof value === "string" ? value.toWellFormed() : value;
function fail(error) { host("failed", JSON.stringify(output().describe(error), wellFormed)); }
// The engine calls this for a promise that was rejected and that nothing waits for.
function unhandled(_, reason) {
  const failure = output().describe(reason);
  const place = failure.function ? `throw@${failure.function}:${failure.line ?? 0}:0` : "";
  host("log", "error", `an operation that isn't awaited failed: ${failure.message}`, failure.stack ?? place);
}
const answer = (...words) => effects().answer(...words), fire = id => timers().fire(id);
const check = (name, source) => host("compile", "function", name, modules().withoutImports(source));
return { contents, compile, globals, begin, end, fail, unhandled, answer, fire, check };

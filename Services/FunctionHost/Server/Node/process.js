// `process`, for packages that look at it. It tells nothing of the machine.
const { EventEmitter } = require("events");
const process = Object.assign(Object.create(EventEmitter.prototype), {
  title: "function", version: "v18.0.0", versions: { node: "18.0.0" }, platform: "linux", arch: "x64", pid: 1, ppid: 0, argv: [], execArgv: [],
  execPath: "", exitCode: undefined, env: {}, release: { name: "node" }, features: {}, config: {}, browser: false,
  cwd: () => "/", umask: () => 0o22, uptime: () => (Date.now() - started) / 1000,
  nextTick: (body, ...args) => { Promise.resolve().then(() => body(...args)); },
  hrtime: Object.assign(before => {
    const now = Date.now(), time = [Math.floor(now / 1000), now % 1000 * 1e6];
    if (!before) return time;
    const seconds = time[0] - before[0], nanoseconds = time[1] - before[1];
    return nanoseconds < 0 ? [seconds - 1, nanoseconds + 1e9] : [seconds, nanoseconds];
  }, { bigint: () => BigInt(Date.now()) * 1000000n }),
  memoryUsage: () => ({ rss: 0, heapTotal: 0, heapUsed: 0, external: 0, arrayBuffers: 0 }),
  emitWarning: warning => console.warn(String(warning?.message ?? warning)),
  stdout: { isTTY: false, fd: 1, write: text => { console.log(String(text)); return true; } },
  stderr: { isTTY: false, fd: 2, write: text => { console.error(String(text)); return true; } },
  exit: () => { throw new Error("process.exit is not supported: return from the function"); },
  [Symbol.toStringTag]: "process",
});
const started = Date.now();
EventEmitter.call(process);
module.exports = process;

// What the host does. Functions reach these only through their context.
const host = {};
for (const name of [
  "effect", "log", "done", "failed", "setTimer", "clearTimer", "crypto", "randomKey", "functionSource", "compile", "hasModule", "moduleText",
]) {
  host[name] = globalThis["__" + name];
  delete globalThis["__" + name];
}

// What the rest of the prelude is made with. A realm serves one request, and most requests use few of the prelude's parts, so each part
// is a closure that is run when something of it is first used.
const lazily = make => {
  let made;
  return () => made ??= make();
};
// A property that is made when it is first read, and is a plain one from then on.
function lazyProperty(object, name, make, enumerable = false) {
  Object.defineProperty(object, name, {
    get: () => settle(object, name, make(name), enumerable), set(value) { settle(this ?? object, name, value, enumerable); },
    enumerable, configurable: true,
  });
}
function settle(object, name, value, enumerable) {
  Object.defineProperty(object, name, { value, writable: true, enumerable, configurable: true });
  return value;
}
// Methods of App Services that aren't supported throw an error that says so, instead of "not a function".
const missing = (target, path, names) => {
  for (const name of names) target[name] = () => { throw new Error(`${path}.${name} is not supported`); };
  return target;
};
// A stack without the frames of this prelude, which say nothing to an app's developers.
const appStack = stack => typeof stack === "string" ? stack.split("\n").filter(frame => !frame.includes("@(partita)") && !frame.startsWith("(partita)")).join("\n") : stack;

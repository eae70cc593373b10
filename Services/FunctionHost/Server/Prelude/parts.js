// What is made once, when it is first used.
const lazily = make => {
  let made;
  return () => made ??= make();
};
// Methods of App Services that aren't supported throw an error that says so, instead of "not a function".
const missing = (target, path, names) => {
  for (const name of names) target[name] = () => { throw new Error(`${path}.${name} is not supported`); };
  return target;
};
// A stack without the frames of this prelude, which say nothing to an app's developers.
const appStack = stack => typeof stack === "string" ? stack.split("\n").filter(frame => !frame.includes("@(partita)") && !frame.startsWith("(partita)")).join("\n") : stack;

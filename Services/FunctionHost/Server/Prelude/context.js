// `context`: the app as a function sees it.
let textOfContext = "{}", root = "", ordinal = 0;
// From which the random numbers of a run follow that must be repeatable; otherwise empty.
let seed = "";
// Whether a number was read that was a double or a long: see `typesOf`.
let hasTypes = false;
// The request's arguments, if they are plain JSON.
let plainArguments = "[]";

// The context of one function. A function that always runs as the system also does so when another function calls it.
const contextNames = ["functions", "runningAsSystem", "services", "values", "app", "environment", "request", "user", "http"];
function makeContext(name) {
  const context = {};
  let contents;
  lazyProperties(context, contextNames, key => (contents ??= parts().contents(name))[key](), true);
  return context;
}
const loaded = Object.create(null);
function load(name, context) {
  name = `${name}`;
  if (loaded[name] !== undefined) return loaded[name];
  let compiled = host("compile", "function", name);
  if (typeof compiled !== "function") compiled = parts().compile(name, compiled);
  const value = compiled(context ?? makeContext(name));
  if (typeof value !== "function") throw new TypeError(`'${name}' must assign a function to exports`);
  return loaded[name] = value;
}

// `context`: the app as a function sees it.
let given = () => ({}), root = "", ordinal = 0, isRepeatable = false;
// Whether a value is a cursor; there is none until `effects` is used.
let isCursor = () => false;

// The context of one function. A function that always runs as the system also does so when another function calls it.
function makeContext(function_) {
  const effect = (...request) => effects().asking(function_)(...request), http = lazily(() => effects().makeHTTP(effect));
  const context = {
    functions: { execute: (name, ...args) => load(name)(...args) },
    runningAsSystem: () => given().runningAsSystem === true || (given().systemFunctions ?? []).includes(function_),
    services: {
      get: name => {
        const services = given().services ?? {};
        const type = Object.hasOwn(services, name) ? services[name] : ["mongodb-atlas", "http"].includes(name) ? name : undefined;
        if (type === "http") return Object.hasOwn(services, name) ? effects().makeHTTP(effect, name, "http.") : http();
        return type === "mongodb-atlas" ? effects().mongodb(effect, name) : effects().vendor(effect, name, type);
      },
    },
    values: {
      get: name => {
        const { unsetSecrets = {}, values = {} } = given();
        const secret = Object.hasOwn(unsetSecrets, name) ? unsetSecrets[name] : undefined;
        if (secret !== undefined) throw new Error(`the value '${name}' is the secret '${secret}', which isn't set`);
        return Object.hasOwn(values, name) ? values[name] : undefined;
      },
    },
  };
  for (const name of ["app", "environment", "request", "user"]) lazyProperty(context, name, contents, true);
  lazyProperty(context, "http", http, true);
  return context;
}
function contents(name) {
  const { app = {}, environment, request, user = {} } = given();
  switch (name) {
    case "app": return app;
    case "environment": return { tag: environment?.tag ?? "", values: environment?.values ?? {} };
    case "request": return request;
    default: return user;
  }
}
const loaded = Object.create(null), contexts = Object.create(null);
const contextOf = name => contexts[name] ??= makeContext(name);
function load(name) {
  name = `${name}`;
  if (loaded[name] !== undefined) return loaded[name];
  let compiled = host("compile", "function", name);
  if (compiled === undefined) {
    const source = host("functionSource", name);
    if (source === undefined) throw Object.assign(new Error(`function not found: '${name}'`), { failure: "FunctionNotFound" });
    compiled = host("compile", "function", name, modules().withoutImports(source));
  }
  if (typeof compiled !== "function") {
    const [, line, message] = /^(\d*):([^]*)$/.exec(compiled);
    throw Object.assign(new SyntaxError(message.replace(/^SyntaxError: /, "")), { failure: "FunctionSyntaxError", place: { function: name, line: Number(line) } });
  }
  const value = compiled(contextOf(name));
  if (typeof value !== "function") throw new TypeError(`'${name}' must assign a function to exports`);
  return loaded[name] = value;
}

// A cursor or promise that a function returns without awaiting it counts as its result, also inside objects and arrays.
function isSettled(value, depth = 0) {
  if (typeof value !== "object" || value === null || depth > 100) return true;
  if (isCursor(value) || typeof value.then === "function") return false;
  if (Array.isArray(value)) {
    for (let index = 0; index < value.length; index++) { if (!isSettled(value[index], depth + 1)) return false; }
    return true;
  }
  if (Object.getPrototypeOf(value) !== Object.prototype) return true;
  for (const key of Object.keys(value)) { if (!isSettled(value[key], depth + 1)) return false; }
  return true;
}
async function settled(value, depth = 0) {
  if (typeof value !== "object" || value === null || depth > 100) return value;
  if (isCursor(value)) return value.toArray();
  if (typeof value.then === "function") return settled(await value, depth + 1);
  if (Array.isArray(value)) return keepTypes(value, await Promise.all(value.map(element => settled(element, depth + 1))));
  if (Object.getPrototypeOf(value) !== Object.prototype) return value;
  const keys = Object.keys(value), parts = await Promise.all(keys.map(key => settled(value[key], depth + 1)));
  return keepTypes(value, Object.fromEntries(keys.map((key, index) => [key, parts[index]])));
}

const given = lazily(() => fromEJSON(JSON.parse(textOfContext)));
// What is in the context of a function, by its names there.
function contents(function_) {
  const effect = (...request) => effects().asking(function_)(...request), http = lazily(() => effects().makeHTTP(effect));
  return {
    functions: () => ({ execute: (name, ...args) => load(name)(...args) }),
    runningAsSystem: () => () => given().runningAsSystem === true || (given().systemFunctions ?? []).includes(function_),
    services: () => ({
      get: name => {
        const services = given().services ?? {};
        const type = Object.hasOwn(services, name) ? services[name] : ["mongodb-atlas", "http"].includes(name) ? name : undefined;
        if (type === "http") return Object.hasOwn(services, name) ? effects().makeHTTP(effect, name, "http.") : http();
        return type === "mongodb-atlas" ? effects().mongodb(effect, name) : effects().vendor(effect, name, type);
      },
    }),
    values: () => ({
      get: name => {
        const { unsetSecrets = {}, values = {} } = given();
        const secret = Object.hasOwn(unsetSecrets, name) ? unsetSecrets[name] : undefined;
        if (secret !== undefined) throw new Error(`the value '${name}' is the secret '${secret}', which isn't set`);
        return Object.hasOwn(values, name) ? values[name] : undefined;
      },
    }),
    app: () => given().app ?? {},
    environment: () => {
      const { environment } = given();
      return { tag: environment?.tag ?? "", values: environment?.values ?? {} };
    },
    request: () => given().request,
    user: () => given().user ?? {},
    http,
  };
}
// The function of a source that `load` can't take as it is: the app has none of that name, it begins with imports, or isn't valid.
function compile(name, answer) {
  let compiled = answer;
  if (compiled === undefined) {
    const source = host("functionSource", name);
    if (source === undefined) throw Object.assign(new Error(`function not found: '${name}'`), { failure: "FunctionNotFound" });
    compiled = host("compile", "function", name, modules().withoutImports(source));
  }
  if (typeof compiled === "function") return compiled;
  const [, line, message] = /^(\d*):([^]*)$/.exec(compiled);
  throw Object.assign(new SyntaxError(message.replace(/^SyntaxError: /, "")), { failure: "FunctionSyntaxError", place: { function: name, line: Number(line) } });
}
// Whether a value is a cursor; there is none until `effects` is used.
let isCursor = () => false;
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

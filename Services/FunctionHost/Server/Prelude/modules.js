// `require`: modules of the app's packages (`/node_modules/…`), and Node's own (`/node/…`), resolved as Node does it. The instances live
// as long as the request.
hideTypes();  // packages keep the language's functions when they are loaded
const nodeModules = {
  assert: "assert.js", buffer: "buffer.js", constants: "constants.js", crypto: "crypto.js", events: "events/events.js", http: "plain.js", https: "secure.js",
  os: "os.js", path: "path-browserify/index.js", process: "process.js", punycode: "punycode.js", querystring: "querystring.js",
  perf_hooks: "perf_hooks.js", stream: "stream.js", "stream/consumers": "stream_consumers.js", "stream/promises": "stream_promises.js", string_decoder: "string_decoder/lib/string_decoder.js", timers: "timers.js",
  "timers/promises": "timers_promises.js", tty: "tty.js", url: "url.js", util: "util.js", "util/types": "util_types.js", sys: "util.js", zlib: "zlib.js", "assert/strict": "assert.js", "path/posix": "path-browserify/index.js",
};
// What a function has no use for. Packages often require it without using it, so it fails at the first use.
const refusedModules = [
  "async_hooks", "child_process", "cluster", "dgram", "diagnostics_channel", "dns", "dns/promises", "domain", "fs", "fs/promises", "http2", "inspector",
  "inspector/promises", "module", "net", "path/win32", "readline", "readline/promises", "repl", "stream/web", "tls", "trace_events", "v8", "vm", "wasi",
  "worker_threads",
];
const nodeOverrides = {
  "/node/readable-stream/lib/internal/streams/stream.js": "/node/readable-stream/lib/internal/streams/stream-browser.js",
  "/node/inherits/inherits.js": "/node/inherits/inherits_browser.js",
};
const conditions = new Set(["node", "require", "default"]);
const moduleCache = new Map(), packageCache = new Map();
const folderOf = path => path.slice(0, Math.max(0, path.lastIndexOf("/")));
function joined(folder, relative) {
  const parts = [];
  for (const part of `${folder}/${relative}`.split("/")) {
    if (part === "..") parts.pop(); else if (part !== "" && part !== ".") parts.push(part);
  }
  return "/" + parts.join("/");
}
// Node passes over a byte order mark, too.
const readJSON = path => JSON.parse(host("moduleText", path).replace(/^\uFEFF/, ""));
const isFile = path => host("hasModule", path) === "1";
function packageAt(folder) {
  if (!packageCache.has(folder)) {
    const path = folder + "/package.json";
    let value;
    if (isFile(path)) {
      try { value = readJSON(path); } catch (error) { throw new Error(`${path} isn't JSON: ${error.message}`); }
    }
    packageCache.set(folder, value);
  }
  return packageCache.get(folder);
}
const fileAt = path => ["", ".js", ".cjs", ".json", ".mjs"].map(suffix => path + suffix).find(isFile);
const indexAt = folder => ["/index.js", "/index.cjs", "/index.json", "/index.mjs"].map(name => folder + name).find(isFile);
function folderModule(folder) {
  const { main } = packageAt(folder) ?? {};
  const path = typeof main === "string" ? joined(folder, main) : undefined;
  return path && (fileAt(path) ?? indexAt(path)) || indexAt(folder);
}
// The target of a package's `exports` or `imports`: a path, conditions, or a list of alternatives.
function target(value, wildcard, accepted) {
  if (typeof value === "string") return value.replaceAll("*", wildcard);
  if (Array.isArray(value)) {
    for (const element of value) { const found = target(element, wildcard, accepted); if (found) return found; }
    return undefined;
  }
  if (value === null || typeof value !== "object") return undefined;
  for (const key of Object.keys(value)) {
    const found = accepted.has(key) ? target(value[key], wildcard, accepted) : undefined;
    if (found) return found;
  }
  return undefined;
}
function mapped(map, key, accepted) {
  if (typeof map === "string" || Array.isArray(map) || !Object.keys(map).some(name => /^[.#]/.test(name))) map = { ".": map };
  if (Object.hasOwn(map, key) && !key.includes("*")) return target(map[key], "", accepted);
  let best;
  for (const pattern of Object.keys(map)) {
    const [start, end, more] = pattern.split("*");
    if (end === undefined || more !== undefined || !key.startsWith(start) || !key.endsWith(end) || key.length < start.length + end.length) continue;
    if (!best || start.length > best.start.length) best = { start, end, value: map[pattern] };
  }
  return best && target(best.value, key.slice(best.start.length, key.length - best.end.length), accepted);
}
// A package that has only an `import` form is taken by that.
const entry = (map, key) => mapped(map, key, conditions) ?? mapped(map, key, new Set([...conditions, "import"]));
function packageModule(folder, rest, specifier) {
  const description = packageAt(folder);
  if (description?.exports !== undefined && description.exports !== null) {
    const path = entry(description.exports, rest ? "./" + rest : ".");
    if (!path || !isFile(joined(folder, path))) {
      throw Object.assign(new Error(`the package of '${specifier}' doesn't export it`), { code: "ERR_PACKAGE_PATH_NOT_EXPORTED" });
    }
    return joined(folder, path);
  }
  return rest ? fileAt(joined(folder, rest)) ?? folderModule(joined(folder, rest)) : folderModule(folder);
}
function notFound(specifier, from) {
  const place = from === "/" ? "" : ` of ${from}`, [first, second] = specifier.split("/");
  const name = first.startsWith("@") ? `${first}/${second}` : first;
  const what = /^[./]/.test(specifier) ? "there is no such file in its package"
    : `the package '${name}' isn't in the app's export: install it in functions/ (npm install ${name}) and deploy again`;
  return Object.assign(new Error(`Cannot find module '${specifier}'${place}: ${what}`), { code: "MODULE_NOT_FOUND" });
}
function resolve(specifier, from) {
  const folder = folderOf(from);
  if (/^\.{0,2}\/|^\.{1,2}$/.test(specifier)) {
    const path = specifier.startsWith("/") ? joined("", specifier) : joined(folder, specifier);
    const found = (/\/$/.test(specifier) ? undefined : fileAt(path)) ?? folderModule(path);
    if (!found) throw notFound(specifier, from);
    return nodeOverrides[found] ?? found;
  }
  if (specifier.startsWith("#")) {
    for (let place = folder; place; place = folderOf(place)) {
      const { imports } = packageAt(place) ?? {};
      const found = imports && entry(imports, specifier);
      if (found) return found.startsWith(".") ? joined(place, found) : resolve(found, from);
    }
    throw notFound(specifier, from);
  }
  const name = specifier.replace(/^node:/, "");
  if (Object.hasOwn(nodeModules, name)) {
    const path = "/node/" + nodeModules[name];
    if (!isFile(path)) throw new Error(`require("${name}") is not supported on this machine: install Debian's packages of JavaScript (node-buffer, node-events, node-path-browserify, node-readable-stream, node-stream-browserify, node-string-decoder)`);
    return path;
  }
  if (refusedModules.includes(name)) return "refused:" + name;
  if (name !== specifier) throw Object.assign(new Error(`No such built-in module: ${specifier}`), { code: "ERR_UNKNOWN_BUILTIN_MODULE" });
  const parts = specifier.replace(/\/$/, "").split("/");
  const count = specifier.startsWith("@") ? 2 : 1, packageName = parts.slice(0, count).join("/"), rest = parts.slice(count).join("/");
  for (let place = folder; ; place = folderOf(place)) {
    const at = (place.startsWith("/node/") || place === "/node" ? "/node" : place + "/node_modules") + "/" + packageName;
    const found = host("hasModule", at + "/") === "1" ? packageModule(at, rest, specifier) : undefined;
    if (found) return nodeOverrides[found] ?? found;
    if (!place) throw notFound(specifier, from);
  }
}

const refused = name => new Proxy({}, {
  get: (_, member) => typeof member !== "string" || member === "then" || member === "__esModule" || member === "default" ? undefined
    : function () { throw new Error(`${name}.${member} is not supported: a function has no files, sockets or processes`); },
});
function isScriptModule(path) {
  if (!path.endsWith(".js")) return path.endsWith(".mjs");
  for (let place = folderOf(path); place; place = folderOf(place)) {
    const description = packageAt(place);
    if (description) return description.type === "module";
  }
  return false;
}
function compileModule(path) {
  return isScriptModule(path) ? host("compile", "module", path, withoutModuleSyntax(host("moduleText", path).replace(/^#!/, "//")))
    : host("compile", "module", path);
}
function loadModule(path, parent) {
  if (moduleCache.has(path)) return moduleCache.get(path).exports;
  const module = { id: path, filename: path, path: folderOf(path), exports: {}, loaded: false, children: [], paths: [], parent };
  moduleCache.set(path, module);
  try {
    if (path.startsWith("refused:")) {
      module.exports = refused(path.slice("refused:".length));
    } else if (path.endsWith(".json")) {
      module.exports = readJSON(path);
    } else {
      const run = compileModule(path);
      if (typeof run !== "function") throw new SyntaxError(`${path}:${run}`);
      module.require = requireFrom(path, module);
      const arguments_ = [module.exports, module.require, module, path, folderOf(path)];
      // Node's modules that are written for this host use its inside.
      if (/^\/node\/[^/]+$/.test(path)) arguments_.push(inside());
      run.apply(module.exports, arguments_);
    }
    module.loaded = true;
    return module.exports;
  } catch (error) {
    moduleCache.delete(path);
    throw error;
  }
}
function requireFrom(path, module) {
  const require = specifier => {
    if (typeof specifier !== "string" || specifier === "") throw new TypeError("require takes a module's name");
    return loadModule(resolve(specifier, path), module);
  };
  require.resolve = specifier => resolve(specifier, path);
  require.cache = {};
  require.main = undefined;
  return require;
}

// Static imports become calls of `require` on the same lines. A default import of a module that was compiled from this syntax is its
// `default`, as compilers do it.
const importClause = String.raw`([\w$]+|\*\s*as\s+[\w$]+|\{[^}]*\}|[\w$]+\s*,\s*\{[^}]*\}|[\w$]+\s*,\s*\*\s*as\s+[\w$]+)`;
const importStatement = new RegExp(String.raw`(^[ \t]*)import(?=[\s{*"'])\s*(?:${importClause}\s*from\s*)?(["'])([^"'\n]+)\3(?:\s*(?:with|assert)\s*\{[^}]*\})?[ \t]*;?`, "gm");
const lines = text => "\n".repeat(text.split("\n").length - 1);
const names = list => list.split(",").map(part => part.trim()).filter(Boolean).map(part => part.split(/\s+as\s+/));
const key = name => /^["']/.test(name) ? name : JSON.stringify(name);
function withoutImports(source) {
  return /^[ \t]*import[\s{*"']/m.test(source) ? withRequires(source, importStatement) : source;
}
function withRequires(source, statement) {
  return source.replace(statement, (whole, indent, clause, _, specifier) => {
    const required = `require(${JSON.stringify(specifier)})`;
    if (!clause) return `${indent}${required};${lines(whole)}`;
    const [, single, rest] = /^([\w$]+)\s*(?:,\s*([^]*))?$/.exec(clause) ?? [null, null, clause];
    const parts = [];
    if (single) parts.push(`${single} = __default(${required})`);
    if (rest?.startsWith("*")) parts.push(`${rest.replace(/^\*\s*as\s+/, "")} = ${required}`);
    else if (rest) parts.push(`{ ${names(rest.slice(1, -1)).map(([from, to]) => from === "default" ? `${key(from)}: ${to} = undefined` : to ? `${key(from)}: ${to}` : from).join(", ")} } = __named(${required})`);
    return `${indent}const ${parts.join(", ")};${lines(whole)}`;
  });
}
// In packages, which may be minified, a statement also begins after another one.
const statementStart = String.raw`(^[ \t]*|(?<=[;}])[ \t]*)`;
const exportStatement = rest => new RegExp(String.raw`${statementStart}export\b\s*${rest}`, "gm");
function withoutModuleSyntax(source) {
  const getters = [];
  const give = (name, value) => getters.push(`Object.defineProperty(exports, ${key(name)}, { enumerable: true, configurable: true, get: () => ${value} });`);
  let text = withRequires(source, new RegExp(importStatement.source.replace("(^[ \\t]*)", statementStart), "gm"));
  text = text.replace(exportStatement(String.raw`\*\s*(?:as\s+([\w$]+)\s*)?from\s*(["'])([^"'\n]+)\3[ \t]*;?`), (_, indent, name, __, specifier) =>
    name ? `${indent}exports.${name} = require(${JSON.stringify(specifier)});` : `${indent}__all(exports, require(${JSON.stringify(specifier)}));`);
  let count = 0;
  text = text.replace(exportStatement(String.raw`\{([^}]*)\}(?:\s*from\s*(["'])([^"'\n]+)\3)?[ \t]*;?`), (whole, indent, list, _, specifier) => {
    const from = specifier && `__from${count++}`;
    for (const [name, alias] of names(list)) {
      give(alias ?? name, from ? name === "default" ? `__default(${from})` : `${from}[${key(name)}]` : name);
    }
    return `${indent}${from ? `const ${from} = require(${JSON.stringify(specifier)});` : ""}${lines(whole)}`;
  });
  text = text.replace(exportStatement(String.raw`default\s+(async\s+function\s*\*?|function\s*\*?|class)\s+(?!extends\b)([\w$]+)`),
    (_, indent, kind, name) => {
    give("default", name);
    return `${indent}${kind} ${name}`;
  });
  text = text.replace(exportStatement(String.raw`default\b\s*`), "$1exports.default = ");
  text = text.replace(exportStatement(String.raw`(async\s+function\s*\*?|function\s*\*?|class)\s*([\w$]+)`), (_, indent, kind, name) => {
    give(name, name);
    return `${indent}${kind} ${name}`;
  });
  text = text.replace(exportStatement(String.raw`(const|let|var)\s+(\{[^}]*\}|[\w$]+)`), (_, indent, kind, pattern) => {
    for (const name of pattern.startsWith("{") ? names(pattern.slice(1, -1)).map(([part]) => part.split(":").pop().trim()) : [pattern]) give(name, name);
    return `${indent}${kind} ${pattern}`;
  });
  text = text.replace(/\bimport\.meta\b/g, "({ url: 'file://' + __filename })").replace(/(^|[^.\w$])import\s*\(/g, "$1__import(require, ");
  return `"use strict"; Object.defineProperty(exports, "__esModule", { value: true }); ${getters.join(" ")}${text}`;
}
// What the sources use that were made from module syntax.
const __default = module => module?.__esModule ? module.default : module;
const __named = module => module?.__esModule || module === null || typeof module !== "object" && typeof module !== "function" ? module
  : new Proxy(module, { get: (inner, name) => name === "default" ? inner : inner[name] });
const __import = async (require, specifier) => {
  const module = require(specifier);
  return module?.__esModule ? module : { ...module, default: module };
};
const __all = (exports, module) => {
  for (const name of Object.keys(module)) {
    if (name !== "default" && !Object.hasOwn(exports, name)) Object.defineProperty(exports, name, { enumerable: true, get: () => module[name] });
  }
};
const fromSyntax = { __default, __named, __import, __all };
lazyProperties(globalThis, Object.keys(fromSyntax), name => fromSyntax[name], false);
return { require: requireFrom("/", undefined), loadGlobal: name => loadModule(resolve(name, "/"), undefined), withoutImports };

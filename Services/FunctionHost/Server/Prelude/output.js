// `console`, and errors as text.
const text = value => {
  if (typeof value === "string") return value;
  if (value instanceof Error) return value.stack ? `${value}\n${appStack(value.stack)}` : String(value);
  try { return plain(JSON.stringify(toEJSON(value, true)) ?? String(value)); } catch { return String(value); }
};
// Numbers that JSON doesn't have. Inside of a text the quotation marks would be escaped.
const plain = text => text.replace(/\{"\$numberDouble":"(NaN|-?Infinity)"\}/g, "$1");
// The values of the directives of a format (`%s %d %i %f %j %o %O %c`), as Node's console puts them in.
const directives = {
  s: text, d: value => typeof value === "object" ? "NaN" : String(Number(value)), i: value => String(parseInt(value)),
  f: value => String(parseFloat(value)), j: text, o: text, O: text, c: () => "",
};
function line(values) {
  const [format, ...rest] = values;
  if (typeof format !== "string" || rest.length === 0 || !format.includes("%")) return values.map(text).join(" ");
  const formatted = format.replace(/%([sdifjoOc%])/g, (whole, kind) =>
    kind === "%" ? "%" : rest.length > 0 ? directives[kind](rest.shift()) : whole);
  return [formatted, ...rest.map(text)].join(" ");
}
let indent = "";
const console = Object.fromEntries(["log", "info", "warn", "error", "debug"].map(level =>
  [level, (...values) => { host("log", level, indent + line(values), new Error().stack); }]));
const counts = new Map(), begins = new Map();
const lasting = label => `${label}: ${Date.now() - begins.get(label)}ms`;
Object.assign(console, {
  dir: value => console.log(value), table: value => console.log(value), trace: (...values) => console.error(...values),
  assert: (condition, ...values) => { if (!condition) console.error(...values.length > 0 ? ["Assertion failed:", ...values] : ["Assertion failed"]); },
  count: (label = "default") => { counts.set(label, (counts.get(label) ?? 0) + 1); console.log(`${label}: ${counts.get(label)}`); },
  countReset: (label = "default") => { counts.delete(label); },
  group: (...values) => { if (values.length > 0) console.log(...values); indent += "  "; },
  groupEnd: () => { indent = indent.slice(2); },
  time: (label = "default") => { if (!begins.has(label)) begins.set(label, Date.now()); },
  timeLog: (label = "default", ...values) => { if (begins.has(label)) console.log(lasting(label), ...values); },
  timeEnd: (label = "default") => { if (begins.has(label)) { console.log(lasting(label)); begins.delete(label); } },
});
console.groupCollapsed = console.group;

// Where in a package an error was thrown; empty for one of the app's own source, which the place of the failure names.
function placeInPackage(stack) {
  const [, path, line] = /^[^\n]*@\/node_modules\/([^\n]+?):(\d+):\d+(?:\n|$)/.exec(appStack(String(stack ?? ""))) ?? [];
  return path ? ` (node_modules/${path}:${line})` : "";
}
// Where a value was thrown that isn't an Error. The engine keeps no stack for it, so the sources tell: the only `throw` of exactly this text
// or, if there is none and no promise is rejected in another way, the only one that may have thrown it.
const thrownLiteral = /^(["'`])((?:(?!\1)[^\\$])*)\1\s*(?:[;})\n]|$)/;
function placeOfThrow(value) {
  const exact = [], possible = [];
  let mayReject = false;
  for (const name of Object.keys(loaded)) {
    const source = host("functionSource", name) ?? "";
    mayReject ||= /\breject/.test(source);
    source.split("\n").forEach((line, index) => {
      const [, expression] = /^(?!\s*(?:\/\/|\*|\/\*)).*?(?<![.\w$])throw\s+([^\s;].*)/.exec(line) ?? [];
      // An Error would have a stack.
      if (expression === undefined || /^new\s+\w*Error\b/.test(expression)) return;
      const literal = thrownLiteral.exec(expression)?.[2];
      if (literal === undefined) possible.push({ function: name, line: index + 1 });
      else if (literal === value) exact.push({ function: name, line: index + 1 });
    });
  }
  const found = exact.length > 0 ? exact : mayReject ? [] : possible;
  if (found.length === 1) return found[0];
  return found.length > 1 && found.every(place => place.function === found[0].function) ? { function: found[0].function } : {};
}
function describe(error) {
  if (!(error instanceof Error)) return { code: "FunctionExecutionError", message: text(error), ...placeOfThrow(error) };
  const message = error.name === "Error" ? error.message : `${error.name}: ${error.message}`;
  return {
    code: error.failure ?? "FunctionExecutionError", message: message + placeInPackage(error.stack), stack: appStack(error.stack), ...error.place,
  };
}
return { console, describe };

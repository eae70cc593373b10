// `console`, and errors as text.
const text = value => {
  if (typeof value === "string") return value;
  if (value instanceof Error) return value.stack ? `${value}\n${appStack(value.stack)}` : String(value);
  try { return JSON.stringify(toEJSON(value, true)) ?? String(value); } catch { return String(value); }
};
const console = Object.fromEntries(["log", "info", "warn", "error", "debug"].map(level =>
  [level, (...values) => { host("log", level, values.map(text).join(" "), new Error().stack); }]));
Object.assign(console, { dir: value => console.log(value), trace: (...values) => console.error(...values) });

// Where in a package an error was thrown; empty for one of the app's own source, which the place of the failure names.
function placeInPackage(stack) {
  const [, path, line] = /^[^\n]*@\/node_modules\/([^\n]+?):(\d+):\d+(?:\n|$)/.exec(appStack(String(stack ?? ""))) ?? [];
  return path ? ` (node_modules/${path}:${line})` : "";
}
function describe(error) {
  if (!(error instanceof Error)) return { code: "FunctionExecutionError", message: text(error) };
  const message = error.name === "Error" ? error.message : `${error.name}: ${error.message}`;
  return {
    code: error.failure ?? "FunctionExecutionError", message: message + placeInPackage(error.stack), stack: appStack(error.stack), ...error.place,
  };
}
return { console, describe };

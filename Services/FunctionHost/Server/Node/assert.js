const { inspect, isDeepEqual } = require("util");
class AssertionError extends Error {
  constructor({ message, actual, expected, operator }) {
    super(message ?? `${inspect(actual)} ${operator} ${inspect(expected)}`);
    Object.assign(this, { name: "AssertionError", code: "ERR_ASSERTION", actual, expected, operator, generatedMessage: message === undefined });
  }
}
function check(holds, actual, expected, message, operator) {
  if (holds) return;
  if (message instanceof Error) throw message;
  throw new AssertionError({ message, actual, expected, operator });
}
const assert = (value, message) => check(value, value, true, message ?? (value === undefined ? "No value argument passed to `assert.ok()`" : undefined), "==");
function matches(error, expected, message) {
  if (expected === undefined) return true;
  if (typeof expected === "function") {
    if (expected.prototype !== undefined && error instanceof expected) return true;
    return !Error.isPrototypeOf(expected) && expected !== Error && expected.call({}, error) === true;
  }
  if (expected instanceof RegExp) return expected.test(String(error));
  return Object.keys(expected).every(key => expected[key] instanceof RegExp && typeof error[key] === "string" ? expected[key].test(error[key]) : isDeepEqual(error[key], expected[key], true));
}
function thrown(failure, expected, message) {
  if (typeof expected === "string") [expected, message] = [undefined, expected];
  check(failure, undefined, expected, message ?? "Missing expected exception.", "throws");
  if (!matches(failure.error, expected)) throw failure.error;
}
const failureOf = body => { try { body(); } catch (error) { return { error }; } };
const rejectionOf = async body => { try { await (typeof body === "function" ? body() : body); } catch (error) { return { error }; } };
Object.assign(assert, {
  ok: assert, AssertionError,
  equal: (a, b, message) => check(a == b || a !== a && b !== b, a, b, message, "=="), notEqual: (a, b, message) => check(a != b, a, b, message, "!="),
  strictEqual: (a, b, message) => check(Object.is(a, b), a, b, message, "strictEqual"),
  notStrictEqual: (a, b, message) => check(!Object.is(a, b), a, b, message, "notStrictEqual"),
  deepEqual: (a, b, message) => check(isDeepEqual(a, b, false), a, b, message, "deepEqual"),
  notDeepEqual: (a, b, message) => check(!isDeepEqual(a, b, false), a, b, message, "notDeepEqual"),
  deepStrictEqual: (a, b, message) => check(isDeepEqual(a, b, true), a, b, message, "deepStrictEqual"),
  notDeepStrictEqual: (a, b, message) => check(!isDeepEqual(a, b, true), a, b, message, "notDeepStrictEqual"),
  match: (text, pattern, message) => check(pattern.test(text), text, pattern, message, "match"),
  doesNotMatch: (text, pattern, message) => check(!pattern.test(text), text, pattern, message, "doesNotMatch"),
  fail: message => check(false, undefined, undefined, message ?? "Failed", "fail"),
  ifError: value => { if (value !== null && value !== undefined) throw value; },
  throws: (body, expected, message) => thrown(failureOf(body), expected, message),
  doesNotThrow: (body, message) => { const failure = failureOf(body); if (failure) check(false, failure.error, undefined, typeof message === "string" ? message : `Got unwanted exception: ${failure.error}`, "doesNotThrow"); },
  rejects: async (body, expected, message) => thrown(await rejectionOf(body), expected, message),
  doesNotReject: async (body, message) => { const failure = await rejectionOf(body); if (failure) check(false, failure.error, undefined, typeof message === "string" ? message : `Got unwanted rejection: ${failure.error}`, "doesNotReject"); },
});
assert.strict = Object.assign((value, message) => assert(value, message), assert, {
  equal: assert.strictEqual, notEqual: assert.notStrictEqual, deepEqual: assert.deepStrictEqual, notDeepEqual: assert.notDeepStrictEqual,
});
assert.strict.strict = assert.strict;
module.exports = assert;

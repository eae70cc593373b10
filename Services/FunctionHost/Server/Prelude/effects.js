// Everything outside of JavaScript is an effect: a promise here, and a frame to the parent.
const pending = new Map();
// The effects of a function, with its name.
// - place: where the conditions are in the arguments: see `placeInside`.
const asking = name => (service, action, args, place) => new Promise((resolve, reject) => {
  const text = JSON.stringify(toEJSON(args, false, 0, undefined, hasTypes ? ofArguments : undefined, place));
  // The stack of the call: when the answer arrives, the function isn't on the stack.
  pending.set(ordinal, { resolve, reject, stack: new Error().stack });
  host("effect", String(ordinal++), service, action, text, name);
});
function answer(number, value, error) {
  const waiting = pending.get(Number(number));
  pending.delete(Number(number));
  if (!waiting) return;
  if (!error) return waiting.resolve(fromEJSON(JSON.parse(value)));
  const { name, message, code, details = {} } = fromEJSON(JSON.parse(error));
  const thrown = Object.assign(new Error(message), details, { name, stack: appStack(waiting.stack) }, code === undefined ? {} : { code });
  Object.defineProperty(thrown, "hasErrorLabel", { value: label => (details.errorLabels ?? []).includes(label) });
  waiting.reject(thrown);
}

class Cursor {
  #load; #explain; #options = {}; #documents = null; #at = 0;
  constructor(load, explain) { this.#load = load; this.#explain = explain; }
  #with(option, value) { this.#options[option] = value; return this; }
  sort(order) { return this.#with("sort", order); }
  limit(count) { return this.#with("limit", count); }
  skip(count) { return this.#with("skip", count); }
  project(fields) { return this.#with("projection", fields); }
  projection(fields) { return this.#with("projection", fields); }
  hint(index) { return this.#with("hint", index); }
  explain() { return this.#explain(this.#options); }
  async #all() { return this.#documents ??= await this.#load(this.#options); }
  async toArray() { const all = await this.#all(); const rest = all.slice(this.#at); this.#at = all.length; return rest; }
  async next() { const all = await this.#all(); return this.#at < all.length ? all[this.#at++] : null; }
  async hasNext() { return this.#at < (await this.#all()).length; }
  async forEach(body) { for (const document of await this.toArray()) await body(document); }
  async map(body) { return (await this.toArray()).map(body); }
  async count() { return (await this.#all()).length; }
  async *[Symbol.asyncIterator]() { while (await this.hasNext()) yield await this.next(); }
  close() { this.#documents = []; return Promise.resolve(); }
}

const withID = document => document !== null && typeof document === "object" && document._id === undefined ? { _id: new (objectIds())(), ...document } : document;
// Where the conditions are in the arguments of a call: see `placeInside`.
const inUpdate = key => key === "$pull" ? "" : undefined;
const inSearch = key => key === "query" || key === "restrictSearchWithMatch" ? "" : undefined;
const inPipeline = key => key === "$match" ? "" : key === "$geoNear" || key === "$graphLookup" ? inSearch : inPipeline;
const inOperations = () => inCall;
function inCall(key) {
  switch (key) {
    case "filter": case "query": case "arrayFilters": return "";
    case "update": return inUpdate;
    case "pipeline": return inPipeline;
    case "operations": return inOperations;
    default: return undefined;
  }
}
// What a call says by its arguments and never by its options, which may be those of the function's caller: with them,
// `updateMany({ owner }, …, options)` would write any document of any collection.
const notOptions = [
  "database", "collection", "filter", "query", "update", "replacement", "document", "documents", "pipeline", "operations", "field",
];
// App Services ignored options that begin with "$", such as the misspelled "$upsert", and those that are arguments.
function onlyOptions(action, options) {
  for (const key of Object.keys(options).filter(key => key.startsWith("$") || notOptions.includes(key))) {
    delete options[key];
    output().console.warn(`${action} has no option '${key}': it is ignored`);
  }
  return options;
}
// The second argument of `find` is a projection, and the options are the third; a session alone is taken for what is meant.
const reading = (projection, options) => options === undefined && projection?.session instanceof Session
  ? [{}, projection] : [projection == null ? {} : { projection }, options];
function collection(effect, service, database, name) {
  const run = (action, args, given) => {
    const { session, ...options } = given ?? {};
    if (session != null && !(session instanceof Session)) {
      return Promise.reject(new TypeError(`${action} needs a session that startSession has made`));
    }
    const own = { database, collection: name, ...args };
    // First for the order of the fields, by which a trigger's run that starts again knows its calls, and last for their values.
    return effect(service, action, { ...own, ...onlyOptions(action, options), ...own, session: session?.id }, inCall);
  };
  const collect = ordered => new (bulk().BulkOperation)((operations, options) => run("bulkWrite", { operations }, options), ordered);
  return missing({
    name,
    find: (filter = {}, ...more) => {
      const [projection, options] = reading(...more);
      return new Cursor(
        ...["find", "explain"].map(action => cursor => run(action, { filter, ...projection, ...cursor }, options)));
    },
    findOne: (filter = {}, ...more) => {
      const [projection, options] = reading(...more);
      return run("findOne", { filter, ...projection }, options);
    },
    aggregate: (pipeline = [], options) =>
      new Cursor(...["aggregate", "explain"].map(action => cursor => run(action, { pipeline, ...cursor }, options))),
    insertOne: (document, options) => run("insertOne", { document: withID(document) }, options),
    insertMany: (documents, options) => run("insertMany", { documents: documents.map(withID) }, options),
    updateOne: (filter, update, options) => run("updateOne", { filter, update }, options),
    updateMany: (filter, update, options) => run("updateMany", { filter, update }, options),
    replaceOne: (filter, replacement, options) => run("replaceOne", { filter, replacement }, options),
    deleteOne: (filter, options) => run("deleteOne", { filter }, options),
    deleteMany: (filter, options) => run("deleteMany", { filter }, options),
    findOneAndUpdate: (filter, update, options) => run("findOneAndUpdate", { filter, update }, options),
    findOneAndReplace: (filter, replacement, options) => run("findOneAndReplace", { filter, replacement }, options),
    findOneAndDelete: (filter, options) => run("findOneAndDelete", { filter }, options),
    count: (filter = {}, options) => run("count", { filter }, options),
    countDocuments: (filter = {}, options) => run("countDocuments", { filter }, options),
    estimatedDocumentCount: options => run("estimatedDocumentCount", {}, options),
    distinct: (field, filter = {}, options) => run("distinct", { field, filter }, options),
    bulkWrite: (operations, options) => run("bulkWrite", { operations }, options),
    initializeOrderedBulkOp: () => collect(true),
    initializeUnorderedBulkOp: () => collect(false),
  }, "collection", ["watch", "createIndex", "drop", "rename"]);
}

let sessions = 0;
class Session {
  #ask; #isOpen = false;
  constructor(effect, service) {
    this.id = sessions++;
    this.#ask = action => effect(service, action, { session: this.id });
  }
  #turn(action, isOpen) { return this.#ask(action).then(result => { this.#isOpen = isOpen; return result; }); }
  startTransaction() { return this.#turn("startTransaction", true); }
  commitTransaction() { return this.#turn("commitTransaction", false); }
  abortTransaction() { return this.#turn("abortTransaction", false); }
  endSession() { return this.#ask("endSession"); }
  async withTransaction(body) {
    for (let attempt = 1; ; attempt++) {
      await this.startTransaction();
      try {
        const result = await body(this);
        // The body may have ended it itself.
        if (this.#isOpen) await this.commitTransaction();
        return result;
      } catch (error) {
        if (this.#isOpen) await this.abortTransaction();
        if (!error?.errorLabels?.includes("TransientTransactionError") || attempt === 10) throw error;
      }
    }
  }
}

const mongodb = (effect, service) => ({
  db: database => missing(
    { name: database, collection: name => collection(effect, service, database, name) }, "db",
    ["aggregate", "runCommand", "listCollections", "createCollection"]),
  startSession: () => new Session(effect, service),
});
// `then` must be undefined, or `await` would treat such an object as a promise.
const byName = make => new Proxy({}, { get: (_, name) => typeof name === "string" && name !== "then" ? make(name) : undefined });
const refuse = (name, message) => { throw Object.assign(new Error(message), { name }); };
// A service of another vendor: `services.get("AWS").s3(region).PutObject({…})`, `services.get("Twilio").send({…})`.
function vendor(effect, service, type) {
  switch (type) {
    case "aws": return byName(api => region => {
      if (region != null && typeof region !== "string") {
        refuse("ServiceCommandNotFound", `${service}.${api} is not supported: call an interface of AWS with a region, as in s3("us-east-1").PutObject`);
      }
      return byName(action => args => effect(service, `${api}.${action}`, { region, arguments: args ?? {} }));
    });
    case "twilio": return byName(action => args => effect(service, action, args ?? {}));
    case undefined: return byName(() => () => refuse("ServiceNotFound", `service not found: '${service}'`));
    default: return byName(() => () => refuse("ServiceNotFound", `the service '${service}' of type ${type} is not supported`));
  }
}
const makeHTTP = (effect, service = "http", prefix = "") => Object.fromEntries(["get", "post", "put", "patch", "delete", "head"].map(method =>
  [method, request => effect(service, prefix + method, requests().httpRequest(request))]));
isCursor = value => value instanceof Cursor;
return { asking, answer, withID, mongodb, vendor, makeHTTP };

// `initializeOrderedBulkOp` and `initializeUnorderedBulkOp`: operations that are collected and sent as one `bulkWrite`.
class BulkOperation {
  #send; #ordered; #operations = [];
  constructor(send, ordered) { this.#send = send; this.#ordered = ordered; }
  get length() { return this.#operations.length; }
  insert(document) { return this.#add({ insertOne: { document: effects().withID(document) } }); }
  find(filter) {
    if (filter === null || typeof filter !== "object") throw new TypeError("find of a bulk operation needs a filter");
    const options = {};
    const add = (action, more) => this.#add({ [action]: { filter, ...options, ...more } });
    const set = (name, value) => { options[name] = value; return found; };
    const found = {
      upsert: () => set("upsert", true), arrayFilters: filters => set("arrayFilters", filters),
      collation: collation => set("collation", collation), hint: index => set("hint", index),
      update: update => add("updateMany", { update }), updateMany: update => add("updateMany", { update }),
      updateOne: update => add("updateOne", { update }), replaceOne: replacement => add("replaceOne", { replacement }),
      remove: () => add("deleteMany"), delete: () => add("deleteMany"),
      removeOne: () => add("deleteOne"), deleteOne: () => add("deleteOne"),
    };
    return found;
  }
  async execute(options) {
    if (!this.#operations.length) throw new Error("Invalid BulkOperation, Batch cannot be empty");
    const operations = this.#operations;
    this.#operations = [];
    const result = await this.#send(operations, { ...options, ordered: this.#ordered });
    return {
      ok: 1, nInserted: result.insertedCount, nUpserted: result.upsertedCount, nMatched: result.matchedCount,
      nModified: result.modifiedCount, nRemoved: result.deletedCount, ...result,
    };
  }
  #add(operation) { this.#operations.push(operation); return this; }
}
return { BulkOperation };

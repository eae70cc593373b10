// The class of `_id`, which most documents need. `define` would make it, too, but with more of the language's parts that a realm makes when they
// are first used: rest parameters, descriptors of all statics. That would take each run that reads a document 10 % longer.
// As in the driver, the ids of a realm have the same random bytes, and are counted from a random number.
let unique, counter;
class Methods {
  toHexString() { return this.id; }
  toString() { return this.id; }
  toJSON() { return this.id; }
  equals(other) { return String(other) === this.id; }
  getTimestamp() { return new Date(parseInt(this.id.slice(0, 8), 16) * 1000); }
  toEJSON() { return { $oid: this.id }; }
}
function ObjectId(id) {
  const self = new.target ? this : Object.create(ObjectId.prototype);
  return fixed(self, "id", typeof id === "string" && /^[0-9a-f]{24}$/.test(id) ? id : digits(id));
}
ObjectId.prototype = Methods.prototype;
hidden(ObjectId.prototype, "constructor", ObjectId);
hidden(ObjectId.prototype, "_bsontype", "ObjectID");
hidden(ObjectId, "name", "ObjectID");
ObjectId.isValid = id => /^[0-9a-fA-F]{24}$/.test(String(id));
ObjectId.createFromHexString = id => new ObjectId(id);
function digits(id) {
  if (id === undefined || id === null) {
    if (unique === undefined) {
      const random = randomOf(seed);
      unique = Math.floor(random() * 2 ** 40).toString(16).padStart(10, "0");
      counter = Math.floor(random() * 2 ** 24);
    }
    counter = (counter + 1) % 2 ** 24;
    const seconds = Math.floor(Date.now() / 1000);
    return seconds.toString(16).padStart(8, "0") + unique + counter.toString(16).padStart(6, "0");
  }
  const text = typeof id !== "object" ? id : id.toHexString ? id.toHexString() : octets().hex(id);
  if (typeof text !== "string" || !/^[0-9a-fA-F]{24}$/.test(text)) {
    throw new TypeError("an ObjectId is made of 24 hexadecimal digits, not of " + JSON.stringify(text));
  }
  return text.toLowerCase();
}
return ObjectId;

// The class of `_id`, which most documents need. `define` would make it, too, but with more of the language's parts that a realm makes when they
// are first used: rest parameters, descriptors of all statics. That would take each run that reads a document 10 % longer.
// As in the driver, the ids of a realm have the same random bytes, and are counted from a random number.
let unique, counter;
class Methods {
  toHexString() { return this.id; }
  toString() { return this.id; }
  toJSON() { return this.id; }
  equals(other) { return other !== undefined && other !== null && digitsOf(other) === this.id; }
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
ObjectId.isValid = id => id !== undefined && id !== null && digitsOf(id) !== undefined;
ObjectId.createFromHexString = id => typeof id === "string" && id.length === 24 ? new ObjectId(id) : refuse(id);
// The least id of a time in seconds, for comparisons.
ObjectId.createFromTime = seconds => new ObjectId((seconds >>> 0).toString(16).padStart(8, "0") + "0".repeat(16));
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
  return digitsOf(id) ?? refuse(id);
}
// The digits of what an id is given as: an id, 24 digits, 12 bytes, or a text of 12 bytes; `undefined` for anything else.
function digitsOf(id) {
  if (typeof id === "object" && !id.toHexString && !(id instanceof String)) {
    const bytes = Uint8Array.from(id);
    return bytes.length === 12 ? octets().hex(bytes) : undefined;
  }
  const text = typeof id !== "object" ? id : id.toHexString ? id.toHexString() : String(id);
  if (typeof text !== "string") return undefined;
  if (/^[0-9a-fA-F]{24}$/.test(text)) return text.toLowerCase();
  return /^[\0-\x7f]{12}$/.test(text) ? octets().hex(octets().toUTF8(text)) : undefined;
}
function refuse(id) {
  throw new TypeError(`an ObjectId is made of 24 hexadecimal digits or of 12 bytes, not of ${typeof id === "string" ? JSON.stringify(id) : String(id)}`);
}
return ObjectId;

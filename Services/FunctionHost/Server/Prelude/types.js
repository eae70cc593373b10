// How the types are made that JavaScript lacks. Their constructors also work without `new`, as existing apps use them.
function define(name, construct, Methods, statics = {}) {
  function type(...parts) {
    const self = new.target ? this : Object.create(type.prototype);
    construct(self, ...parts);
    return self;
  }
  Object.defineProperty(type, "name", { value: name });
  type.prototype = Methods.prototype;
  hidden(type.prototype, "constructor", type);
  hidden(type.prototype, "_bsontype", name);
  return Object.defineProperties(type, Object.getOwnPropertyDescriptors(statics));
}
const hidden = (object, key, value) => Object.defineProperty(object, key, { value, enumerable: false, writable: true, configurable: true });
const fixed = (object, key, value) => Object.defineProperty(object, key, { value, enumerable: false });

// What the rest of the prelude is made with. A realm serves one request, and most requests use few of the prelude's parts, so each part
// is a closure that is run when something of it is first used. A realm's time goes into the functions that it declares and runs, even
// into those that it never calls, so what every realm has is little and small, and the parts are inside one function, `makeParts`.
let madeParts;
const parts = () => madeParts ??= makeParts();
// Properties that are made when they are first read, and are plain ones from then on.
function lazyProperties(object, names, make, enumerable) {
  const descriptor = { get: undefined, set: undefined, enumerable, configurable: true };
  for (let index = 0; index < names.length; index++) {
    const name = names[index];
    descriptor.get = () => settle(object, name, make(name), enumerable);
    descriptor.set = function (value) { settle(this ?? object, name, value, enumerable); };
    Object.defineProperty(object, name, descriptor);
  }
}
function settle(object, name, value, enumerable) {
  Object.defineProperty(object, name, { value, writable: true, enumerable, configurable: true });
  return value;
}

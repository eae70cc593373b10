// What the rest of the prelude is made with. A realm serves one request, and most requests use few of the prelude's parts, so each part
// is a closure that is run when something of it is first used. A realm's time goes into the functions that it declares and runs, even
// into those that it never calls, so what every realm has is little and small, and the parts are inside one function, `makeParts`.
let madeParts;
const parts = () => madeParts ??= makeParts();
// Properties that are made when they are first read, and are plain ones from then on. Those of an object that was frozen or sealed before
// can't become plain ones: they keep what was made.
const unmade = {};
function lazyProperties(object, names, make, enumerable) {
  const descriptor = { get: undefined, set: undefined, enumerable, configurable: true };
  for (let index = 0; index < names.length; index++) {
    const name = names[index];
    let value = unmade;
    descriptor.get = () => {
      if (value === unmade) settle(object, name, value = make(name), enumerable);
      return value;
    };
    descriptor.set = function (given) {
      const owner = this ?? object;
      if (!settle(owner, name, given, enumerable) && owner === object && !Object.isFrozen(object)) value = given;
    };
    Object.defineProperty(object, name, descriptor);
  }
}
const settle = (object, name, value, enumerable) => Reflect.defineProperty(object, name, { value, writable: true, enumerable, configurable: true });

// The types that JavaScript lacks, besides ObjectId. Each is made when it is first used.
const longOf = value => make("Long", value?._bsontype === "Long" ? value.value : value).value;
// The radix is the driver's third argument, or the second.
function longOfText(text, isUnsigned, radix = typeof isUnsigned === "number" ? isUnsigned : 10) {
  if (radix === 10) return make("Long", text);
  const [, sign, digits] = /^(-?)(.*)$/.exec(text), size = [...digits].reduce((sum, digit) => sum * BigInt(radix) + BigInt(parseInt(digit, radix)), 0n);
  return make("Long", sign ? -size : size);
}
const make = (name, ...parts) => new (type(name))(...parts);
const number = (name, convert, write) => define(name, (self, value) => fixed(self, "value", convert(value)), class {
  valueOf() { return this.value; }
  toString(radix) { return this.value.toString(radix); }
  toJSON() { return this.value; }
  toEJSON() { return write(this.value); }
});
const makers = {
  ObjectId: objectIds, Binary: makeBinary, UUID: makeUUID, Int32: makeInt32, Double: makeDouble, Long: makeLong,
  Decimal128: makeDecimal128, Timestamp: makeTimestamp, BSONRegExp: makeBSONRegExp, MinKey: makeMinKey, MaxKey: makeMaxKey, Opaque: makeOpaque,
};
const made = Object.create(null), type = name => made[name] ??= makers[name]();
function makeBinary() {
  return define("Binary", (self, bytes, subtype = 0) => {
    fixed(self, "buffer", typeof bytes === "string" ? octets().toUTF8(bytes) : Uint8Array.from(bytes ?? []));
    fixed(self, "sub_type", subtype);
  }, class {
    text() { return octets().fromUTF8(this.buffer); }
    toString() { return octets().fromUTF8(this.buffer); }
    toBase64() { return octets().toBase64(this.buffer); }
    toHex() { return octets().hex(this.buffer); }
    toJSON() { return this.toBase64(); }
    length() { return this.buffer.length; }
    value() { return this.buffer; }
    valueOf() { return this.buffer; }  // so that Buffer.from takes it
    toEJSON() {
      return { $binary: { base64: octets().toBase64(this.buffer), subType: this.sub_type.toString(16).padStart(2, "0") } };
    }
  }, {
    fromText: text => make("Binary", octets().toUTF8(String(text))),
    fromBase64: (text, subtype = 0) => make("Binary", octets().fromBase64(text), subtype),
    fromHex: (text, subtype = 0) => make("Binary", octets().fromHex(text), subtype),
  });
}
function makeUUID() {
  return define("UUID", (self, id) => {
    if (id === undefined || id === null) {
      id = octets().randomBytes(16);
      id[6] = id[6] & 15 | 64;
      id[8] = id[8] & 63 | 128;
    }
    const digits = (typeof id === "string" ? id : octets().hex(id.buffer instanceof Uint8Array ? id.buffer : id)).replace(/-/g, "");
    if (!/^[0-9a-fA-F]{32}$/.test(digits)) throw new TypeError("a UUID is made of 32 hexadecimal digits");
    fixed(self, "id", digits.toLowerCase());
  }, class {
    toHexString() { return this.id.replace(/(.{8})(.{4})(.{4})(.{4})/, "$1-$2-$3-$4-"); }
    toString() { return this.toHexString(); }
    toJSON() { return this.toHexString(); }
    equals(other) { return String(other) === this.toHexString(); }
    toEJSON() { return { $binary: { base64: octets().toBase64(octets().fromHex(this.id)), subType: "04" } }; }
  });
}
function makeInt32() {
  return number("Int32", (value = 0) => Number(value) | 0, value => ({ $numberInt: String(value) }));
}
function makeDouble() {
  return number("Double", (value = 0) => Number(value), writeDouble);
}
function makeLong() {
  return define("Long", (self, low = 0, high = undefined) => {
    const value = typeof low === "bigint" ? low
      : high === undefined ? BigInt(typeof low === "string" ? low : Math.trunc(Number(low)))
      : BigInt(high) << 32n | BigInt(low >>> 0);
    fixed(self, "value", BigInt.asIntN(64, value));
  }, class {
    valueOf() { return Number(this.value); }
    toString(radix) { return this.value.toString(radix); }
    toNumber() { return Number(this.value); }
    toBigInt() { return this.value; }
    toJSON() { return Number(this.value); }
    equals(other) { return this.compare(other) === 0; }
    // The arithmetic of the driver's class: the result has 64 bits.
    compare(other) { const one = this.value, two = longOf(other); return one < two ? -1 : one > two ? 1 : 0; }
    add(other) { return make("Long", this.value + longOf(other)); }
    subtract(other) { return make("Long", this.value - longOf(other)); }
    multiply(other) { return make("Long", this.value * longOf(other)); }
    divide(other) { return make("Long", this.value / longOf(other)); }
    modulo(other) { return make("Long", this.value % longOf(other)); }
    negate() { return make("Long", -this.value); }
    notEquals(other) { return !this.equals(other); }
    lessThan(other) { return this.compare(other) < 0; }
    lessThanOrEqual(other) { return this.compare(other) <= 0; }
    greaterThan(other) { return this.compare(other) > 0; }
    greaterThanOrEqual(other) { return this.compare(other) >= 0; }
    isZero() { return this.value === 0n; }
    isNegative() { return this.value < 0n; }
    toInt() { return Number(BigInt.asIntN(32, this.value)); }
    get low() { return this.toInt(); }
    get high() { return Number(this.value >> 32n); }
    toEJSON() { return { $numberLong: String(this.value) }; }
  }, {
    fromNumber: value => make("Long", value), fromInt: value => make("Long", value), fromString: longOfText,
    fromBigInt: value => make("Long", value), fromBits: (low, high) => make("Long", low, high), isLong: value => value?._bsontype === "Long",
    get MAX_VALUE() { return make("Long", 2n ** 63n - 1n); }, get MIN_VALUE() { return make("Long", -(2n ** 63n)); },
    get ZERO() { return make("Long", 0); }, get ONE() { return make("Long", 1); },
  });
}
// Whether a number has an exact form within 34 digits and the exponent's range.
function isDecimal(text) {
  if (/^[+-]?(nan|inf|infinity)$/i.test(text)) return true;
  const [, whole, fraction = "", power = "0"] = /^[+-]?(?=\.?\d)(\d*)(?:\.(\d*))?(?:e([+-]?\d+))?$/i.exec(text) ?? [];
  if (whole === undefined) return false;
  const digits = (whole + fraction).replace(/^0+/, ""), significant = digits.replace(/0+$/, "");
  const exponent = Number(power) - fraction.length + digits.length - significant.length;
  return significant === "" || significant.length <= 34 && exponent >= -6176 && exponent <= 6111 + 34 - significant.length;
}
function makeDecimal128() {
  return define("Decimal128", (self, given) => {
    const text = String(given);
    if (!isDecimal(text.split(":", 1)[0])) throw new TypeError(`${JSON.stringify(text)} is not a valid Decimal128 string`);
    fixed(self, "value", text);
  }, class {
    // When the text stands for other bits than the number's, the number's bits follow it after a colon.
    toString() { return this.value.split(":", 1)[0]; }
    toJSON() { return this.toString(); }
    toEJSON() { return { $numberDecimal: this.value }; }
  }, { fromString: text => make("Decimal128", text) });
}
function makeTimestamp() {
  // It is made of its parts, of an object with them, or of a Long.
  return define("Timestamp", (self, first = 0, second = 0) => {
    const { t = 0, i = 0 } = typeof first !== "object" || first === null ? { t: first, i: second }
      : first._bsontype === "Long" ? { t: first.high >>> 0, i: first.low >>> 0 } : first;
    self.t = Number(t);
    self.i = Number(i);
  }, class {
    toEJSON() { return { $timestamp: { t: this.t, i: this.i } }; }
  });
}
function makeBSONRegExp() {
  return define("BSONRegExp", (self, pattern, options = "") => { self.pattern = pattern; self.options = options; }, class {
    toEJSON() { return { $regularExpression: { pattern: this.pattern, options: this.options } }; }
  });
}
function makeMinKey() {
  return define("MinKey", () => {}, class { toEJSON() { return { $minKey: 1 }; } }, { toEJSON: () => ({ $minKey: 1 }) });
}
function makeMaxKey() {
  return define("MaxKey", () => {}, class { toEJSON() { return { $maxKey: 1 }; } }, { toEJSON: () => ({ $maxKey: 1 }) });
}
// Deprecated types that functions don't use: their values are kept unchanged.
function makeOpaque() {
  return define("Opaque", (self, raw) => fixed(self, "raw", raw), class { toEJSON() { return this.raw; } });
}
// What functions get as `BSON`.
const BSON = lazily(() => {
  const names = ["ObjectId", "Binary", "UUID", "Int32", "Double", "Long", "Decimal128", "Timestamp", "BSONRegExp", "MinKey", "MaxKey"];
  const all = {};
  lazyProperties(all, names, type, true);
  lazyProperties(all, ["ObjectID"], () => type("ObjectId"), true);
  lazyProperties(all, ["Int64"], () => type("Long"), true);
  return all;
});
return { make, type, BSON };

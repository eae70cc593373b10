// `crypto` by OpenSSL in the host. Hashes take all of their input before they give their output; ciphers give what is complete.
const { Buffer } = require("buffer"), { Transform } = require("stream"), { StringDecoder } = require("string_decoder"), { operate } = inside;
const bytesOf = (data, encoding) => {
  if (typeof data === "string") return Buffer.from(data, encoding === "buffer" ? "utf8" : encoding);
  if (data instanceof KeyObject) return KeyObject.bytesOf(data);
  if (ArrayBuffer.isView(data)) return Buffer.from(data.buffer, data.byteOffset, data.byteLength);
  if (data instanceof ArrayBuffer) return Buffer.from(data);
  if (data?.buffer instanceof Uint8Array) return Buffer.from(data.buffer);
  throw Object.assign(new TypeError('The "data" argument must be of type string or an instance of Buffer, TypedArray, or DataView.'),
    { code: "ERR_INVALID_ARG_TYPE" });
};
const coded = (data, encoding) => inside.toBase64(bytesOf(data, encoding));
const shown = (bytes, encoding) => encoding && encoding !== "buffer" ? Buffer.from(bytes).toString(encoding) : Buffer.from(bytes);
const later = (work, done) => {
  let result, failure = null;
  try { result = work(); } catch (error) { failure = error; }
  if (!done) { if (failure) throw failure; return result; }
  setImmediate(() => done(failure, result));
};

class Collected extends Transform {
  constructor(options) {
    super(options);
    Object.defineProperty(this, "chunks", { value: [], enumerable: false, writable: true });
    Object.defineProperty(this, "isFinal", { value: false, enumerable: false, writable: true });
  }
  _transform(chunk, encoding, done) { this.update(chunk, encoding); done(); }
  update(data, encoding) {
    if (this.isFinal) throw Object.assign(new Error("Digest already called"), { code: "ERR_CRYPTO_HASH_FINALIZED" });
    this.chunks.push(bytesOf(data, encoding));
    return this;
  }
  collected() {
    if (this.isFinal) throw Object.assign(new Error("Digest already called"), { code: "ERR_CRYPTO_HASH_FINALIZED" });
    this.isFinal = true;
    return inside.toBase64(Buffer.concat(this.chunks));
  }
}
class Hash extends Collected {
  constructor(name) { super(); operate("hash", name, ""); this.algorithm = name; }
  digest(encoding) { return shown(operate("hash", this.algorithm, this.collected()), encoding); }
  copy() { const other = new Hash(this.algorithm); other.chunks = [...this.chunks]; return other; }
  _flush(done) { this.push(this.digest()); done(); }
}
class Hmac extends Collected {
  #key;
  constructor(name, key) { super(); operate("hash", name, ""); this.algorithm = name; this.#key = coded(key); }
  digest(encoding) { return shown(operate("hmac", this.algorithm, this.collected(), this.#key), encoding); }
  _flush(done) { this.push(this.digest()); done(); }
}
// The errors that Node has codes for, by their beginnings.
const cipherErrors = [
  ["Unknown cipher", Error, "ERR_CRYPTO_UNKNOWN_CIPHER"], ["Invalid key length", RangeError, "ERR_CRYPTO_INVALID_KEYLEN"],
  ["Invalid initialization vector", TypeError, "ERR_CRYPTO_INVALID_IV"], ["Invalid authentication tag", TypeError, "ERR_CRYPTO_INVALID_AUTH_TAG"],
  ["Invalid state", Error, "ERR_CRYPTO_INVALID_STATE"],
];
function cipherError(message) {
  const [, library, reason] = /^error:[0-9A-F]+:([^:]*):[^:]*:(.*)$/.exec(message) ?? [];
  if (reason) return Object.assign(new Error(message), { library, reason, code: "ERR_OSSL_" + reason.toUpperCase().replace(/ /g, "_") });
  const [, Kind, code] = cipherErrors.find(([start]) => message.startsWith(start)) ?? [undefined, Error, undefined];
  return Object.assign(new Kind(message), code ? { code } : {});
}
const cipherOperation = (...words) => { try { return operate(...words); } catch (error) { throw cipherError(error.message); } };
class Cipher extends Transform {
  #number; #encrypts; #isAuthenticated; #tagLength; #tag; #decoder; #encoding; #hasBegun = false; #isOver = false;
  constructor(name, key, iv, encrypts, options) {
    super(options);
    if (/-ocb$/i.test(name) && options?.authTagLength === undefined) throw Object.assign(new TypeError(`authTagLength required for ${name}`), { code: "ERR_CRYPTO_INVALID_AUTH_TAG" });
    [this.#encrypts, this.#tagLength] = [encrypts, options?.authTagLength ?? 16];
    const answer = cipherOperation("cipher-begin", String(name).toLowerCase(), encrypts ? "1" : "0", coded(key), iv === null || iv === undefined ? "" : coded(iv), String(this.#tagLength));
    const [number, isAuthenticated] = inside.fromUTF8(answer).split(" ");
    [this.#number, this.#isAuthenticated] = [number, isAuthenticated === "1"];
  }
  update(data, inputEncoding, outputEncoding) {
    if (this.#isOver) throw cipherError("Trying to add data in unsupported state");
    this.#hasBegun = true;
    return this.#shown(cipherOperation("cipher-update", this.#number, coded(data, inputEncoding)), outputEncoding, false);
  }
  final(outputEncoding) {
    if (this.#isOver) throw cipherError("Invalid state");
    this.#isOver = true;
    const answer = cipherOperation("cipher-final", this.#number, inside.toBase64(this.#tag ?? Buffer.alloc(0)));
    const end = answer.length - (this.#isAuthenticated && this.#encrypts ? this.#tagLength : 0);
    if (end < answer.length) this.#tag = Buffer.from(answer.subarray(end));
    return this.#shown(answer.subarray(0, end), outputEncoding, true);
  }
  // A text may end in the middle of a character, or of four digits of Base64, which come with the next part.
  #shown(bytes, encoding, isEnd) {
    if (!encoding || encoding === "buffer") return Buffer.from(bytes);
    const isURL = encoding === "base64url";
    if (this.#encoding !== undefined && this.#encoding !== encoding) throw new Error("Cannot change encoding");
    this.#encoding = encoding;
    this.#decoder ??= new StringDecoder(isURL ? "base64" : encoding);
    const text = isEnd ? this.#decoder.end(Buffer.from(bytes)) : this.#decoder.write(Buffer.from(bytes));
    return isURL ? text.replace(/\+/g, "-").replace(/\//g, "_").replace(/=+$/, "") : text;
  }
  setAutoPadding(isOn = true) {
    if (this.#isOver) throw cipherError("Invalid state for operation setAutoPadding");
    cipherOperation("cipher-padding", this.#number, isOn ? "1" : "0");
    return this;
  }
  setAAD(data, options) {
    if (this.#hasBegun || this.#isOver || !this.#isAuthenticated) throw cipherError("Invalid state for operation setAAD");
    cipherOperation("cipher-authenticate", this.#number, coded(data, options?.encoding));
    return this;
  }
  getAuthTag() {
    if (!this.#isAuthenticated || !this.#encrypts || !this.#isOver) throw cipherError("Invalid state for operation getAuthTag");
    return this.#tag;
  }
  setAuthTag(tag, encoding) {
    const bytes = bytesOf(tag, encoding);
    if (!this.#isAuthenticated || this.#encrypts || this.#isOver || this.#tag) throw cipherError("Invalid state for operation setAuthTag");
    if (bytes.length < 4 || bytes.length > 16) throw cipherError(`Invalid authentication tag length: ${bytes.length}`);
    this.#tag = bytes;
    return this;
  }
  _transform(chunk, encoding, done) { try { this.push(this.update(chunk, encoding)); } catch (error) { return done(error); } done(); }
  _flush(done) { try { this.push(this.final()); } catch (error) { return done(error); } done(); }
}
function cipherLengths(name) {
  const [keyLength, ivLength, blockSize] = inside.fromUTF8(cipherOperation("cipher-lengths", String(name).toLowerCase())).split(" ").map(Number);
  return { keyLength, ivLength, blockSize };
}
function getCipherInfo(name) {
  let lengths;
  try { lengths = cipherLengths(name); } catch { return undefined; }
  const { keyLength, ivLength, blockSize } = lengths, lower = name.toLowerCase(), mode = /-(cbc|cfb|ctr|ecb|gcm|ocb|ofb)\d*$/.exec(lower)?.[1] ?? (blockSize === 1 ? "stream" : "cbc");
  return { mode, name: lower, ...mode === "stream" ? {} : { blockSize }, ...ivLength ? { ivLength } : {}, keyLength };
}
// Ciphers with a password instead of a key, as OpenSSL's EVP_BytesToKey derives it: with MD5, once, without salt.
function withPassword(name, password, encrypts, options) {
  const { keyLength, ivLength } = cipherLengths(name), secret = bytesOf(password);
  let derived = Buffer.alloc(0), block = Buffer.alloc(0);
  while (derived.length < keyLength + ivLength) {
    block = Buffer.from(operate("hash", "md5", inside.toBase64(Buffer.concat([block, secret]))));
    derived = Buffer.concat([derived, block]);
  }
  return new Cipher(name, derived.subarray(0, keyLength), derived.subarray(keyLength, keyLength + ivLength), encrypts, options);
}
const refused = (what, instead) => Object.assign(new Error(`${what} is not supported${instead ? `: ${instead}` : ""}`), { code: "ERR_FEATURE_UNAVAILABLE_ON_PLATFORM" });
// A key's `export`: asymmetric keys are held in PEM, public ones as SubjectPublicKeyInfo, private ones as PKCS #8.
function exported(type, bytes, { type: form, format = "pem", passphrase, cipher } = {}) {
  if (type === "secret") {
    if (format === "jwk") return { kty: "oct", k: bytes.toString("base64url") };
    return Buffer.from(bytes);
  }
  const own = type === "public" ? "spki" : "pkcs8";
  if (cipher !== undefined || passphrase !== undefined) throw refused("the export of an encrypted key");
  if ((form ?? own) !== own || !["pem", "der"].includes(format)) throw refused(`the export of a ${type} key as ${form ?? ""} ${format}`, `use ${own} in pem or der`);
  const text = bytes.toString("latin1");
  return format === "pem" ? text : Buffer.from(text.replace(/-----[^-]*-----|\s/g, ""), "base64");
}
class KeyObject {
  #bytes;
  // The bytes of a secret key, the PEM of another one.
  static bytesOf(key) { return key.#bytes; }
  static from() { throw refused("a CryptoKey"); }
  constructor(type, bytes, kind, bits) {
    this.type = type;
    this.#bytes = bytes;
    if (kind) { this.asymmetricKeyType = kind; this.asymmetricKeyDetails = kind === "rsa" ? { modulusLength: bits } : { namedCurve: { 256: "prime256v1", 384: "secp384r1", 521: "secp521r1" }[bits] }; }
    else this.symmetricKeySize = bytes.length;
  }
  export(options) { return exported(this.type, this.#bytes, options); }
  equals(other) { return other instanceof KeyObject && this.type === other.type && this.#bytes.equals(other.#bytes); }
}
// Distinguished Encoding Rules (X.690), as far as public keys need them.
const der = {
  of: (tag, ...parts) => {
    const body = Buffer.concat(parts), length = body.length;
    const head = length < 128 ? [length] : length < 256 ? [0x81, length] : [0x82, length >> 8, length & 255];
    return Buffer.concat([Buffer.from([tag, ...head]), body]);
  },
  number: bytes => der.of(2, bytes[0] & 128 ? Buffer.concat([Buffer.from([0]), bytes]) : bytes),
};
const curves = { "P-256": ["2a8648ce3d030107", 32], "P-384": ["2b81040022", 48], "P-521": ["2b81040023", 66] };
// The PEM of a public key in a JSON Web Key (RFC 7517, 7518).
function publicKeyOfJWK(jwk) {
  const part = name => {
    if (typeof jwk[name] !== "string") throw Object.assign(new TypeError(`the JWK has no '${name}'`), { code: "ERR_CRYPTO_INVALID_JWK" });
    return Buffer.from(jwk[name], "base64url");
  };
  const oid = hex => der.of(6, Buffer.from(hex, "hex")), bits = (...parts) => der.of(3, Buffer.from([0]), ...parts);
  let algorithm, key;
  if (jwk.kty === "RSA") {
    algorithm = [oid("2a864886f70d010101"), der.of(5)];
    key = bits(der.of(0x30, der.number(part("n")), der.number(part("e"))));
  } else if (jwk.kty === "EC" && Object.hasOwn(curves, jwk.crv)) {
    const [curve, length] = curves[jwk.crv], padded = bytes => Buffer.concat([Buffer.alloc(Math.max(0, length - bytes.length)), bytes]);
    algorithm = [oid("2a8648ce3d0201"), oid(curve)];
    key = bits(Buffer.from([4]), padded(part("x")), padded(part("y")));
  } else throw refused(`a JWK of ${jwk.kty} ${jwk.crv ?? ""}`, "RSA and EC with P-256, P-384 or P-521 are");
  const lines = der.of(0x30, der.of(0x30, ...algorithm), key).toString("base64").match(/.{1,64}/g);
  return Buffer.from(["-----BEGIN PUBLIC KEY-----", ...lines, "-----END PUBLIC KEY-----", ""].join("\n"));
}
function keyObject(given, type) {
  const isWrapped = typeof given === "object" && given !== null && !ArrayBuffer.isView(given) && !(given instanceof KeyObject) && given.key !== undefined;
  const key = isWrapped ? given.key : given, { format, type: form, passphrase } = isWrapped ? given : {};
  if (key instanceof KeyObject) {
    if (key.type === type) return key;
    if (key.type !== "private") throw Object.assign(new TypeError(`Invalid key object type ${key.type}, expected ${type}.`), { code: "ERR_CRYPTO_INVALID_KEY_OBJECT_TYPE" });
  }
  let bytes;
  if (key instanceof KeyObject) bytes = KeyObject.bytesOf(key);
  else if (format === "jwk") {
    if (type === "private") throw refused("a private key in a JWK", "use PEM");
    bytes = publicKeyOfJWK(key);
  } else if (format === "der") {
    const name = { spki: "PUBLIC KEY", pkcs8: "PRIVATE KEY", pkcs1: type === "private" ? "RSA PRIVATE KEY" : "RSA PUBLIC KEY", sec1: "EC PRIVATE KEY" }[form];
    if (!name) throw refused(`a key in DER as ${form}`);
    bytes = Buffer.from(`-----BEGIN ${name}-----\n${bytesOf(key).toString("base64").match(/.{1,64}/g).join("\n")}\n-----END ${name}-----\n`);
  } else bytes = bytesOf(key);
  const answer = inside.fromUTF8(operate("key", type === "private" ? "1" : "0", inside.toBase64(bytes), passphrase === undefined ? "" : coded(passphrase)));
  const end = answer.indexOf("\n"), [kind, bits] = answer.slice(0, end).split(" ");
  return new KeyObject(type, Buffer.from(answer.slice(end + 1)), kind, Number(bits));
}
const RSA_PKCS1_PSS_PADDING = 6;
function schemeOf(key, kind) {
  if (kind === "ec") return key?.dsaEncoding === "ieee-p1363" ? "ecdsa" : "ecdsa-der";
  if (key?.padding !== RSA_PKCS1_PSS_PADDING) return "pkcs1v15";
  return key.saltLength === undefined || key.saltLength === -2 ? "pss" : "jose-pss";
}
const digestName = name => (name ?? "sha256").replace(/^RSA-/i, "").toLowerCase();
class Sign extends Collected {
  constructor(name) { super(); this.algorithm = digestName(name); operate("hash", this.algorithm, ""); }
  sign(key, encoding) {
    const held = keyObject(key, "private");
    return shown(operate("sign", this.algorithm, schemeOf(key, held.asymmetricKeyType), inside.toBase64(KeyObject.bytesOf(held)), this.collected()), encoding);
  }
}
class Verify extends Collected {
  constructor(name) { super(); this.algorithm = digestName(name); operate("hash", this.algorithm, ""); }
  verify(key, signature, encoding) {
    const held = keyObject(key, "public");
    return operate("verify", this.algorithm, schemeOf(key, held.asymmetricKeyType), inside.toBase64(KeyObject.bytesOf(held)), this.collected(),
      coded(signature, encoding))[0] === 1;
  }
}
const random = count => {
  if (!Number.isInteger(count) || count < 0 || count > 1 << 24) throw Object.assign(new RangeError(`the number of random bytes ${count} is out of range`), { code: "ERR_OUT_OF_RANGE" });
  return Buffer.from(inside.secureBytes(count));
};
function randomFillSync(target, offset = 0, size = target.byteLength - offset) {
  new Uint8Array(target.buffer ?? target, target.byteOffset ?? 0, target.byteLength).set(random(size), offset);
  return target;
}
function randomInt(low, high, done) {
  if (high === undefined || typeof high === "function") [low, high, done] = [0, low, high];
  const range = high - low;
  if (!Number.isSafeInteger(low) || !Number.isSafeInteger(high) || range <= 0 || range > 2 ** 48) throw new RangeError("the range of randomInt must be positive and at most 2 ** 48");
  return later(() => {
    const limit = 2 ** 48 - 2 ** 48 % range;
    for (;;) { const number = random(6).readUIntBE(0, 6); if (number < limit) return low + number % range; }
  }, done);
}
function randomUUID() {
  const bytes = random(16);
  bytes[6] = bytes[6] & 15 | 64;
  bytes[8] = bytes[8] & 63 | 128;
  return bytes.toString("hex").replace(/(.{8})(.{4})(.{4})(.{4})/, "$1-$2-$3-$4-");
}
const pbkdf2Sync = (password, salt, iterations, length, name) => Buffer.from(operate("pbkdf2", digestName(name), coded(password), coded(salt), String(iterations), String(length)));
const scryptSync = (password, salt, length, options = {}) => Buffer.from(operate(
  "scrypt", coded(password), coded(salt), String(length), String(options.N ?? options.cost ?? 16384),
    String(options.r ?? options.blockSize ?? 8), String(options.p ?? options.parallelization ?? 1), String(options.maxmem ?? 32 << 20)));
module.exports = {
  createHash: name => new Hash(name), createHmac: (name, key) => new Hmac(name, key), Hash, Hmac, Sign, Verify, KeyObject,
  createCipheriv: (name, key, iv, options) => new Cipher(name, key, iv, true, options),
  createDecipheriv: (name, key, iv, options) => new Cipher(name, key, iv, false, options),
  createCipher: (name, password, options) => withPassword(name, password, true, options), getCipherInfo,
  createDecipher: (name, password, options) => withPassword(name, password, false, options),
  createSign: name => new Sign(name), createVerify: name => new Verify(name),
  sign: (name, data, key) => new Sign(name).update(data).sign(key),
  verify: (name, data, key, signature) => new Verify(name).update(data).verify(key, signature),
  createSecretKey: (key, encoding) => new KeyObject("secret", bytesOf(key, encoding)), createPublicKey: key => keyObject(key, "public"),
  createPrivateKey: key => keyObject(key, "private"),
  randomBytes: (count, done) => later(() => random(count), done), pseudoRandomBytes: (count, done) => later(() => random(count), done),
  randomFillSync,
  randomFill: (target, ...rest) => { const done = rest.pop(); later(() => randomFillSync(target, ...rest), done); }, randomInt, randomUUID,
  pbkdf2Sync, pbkdf2: (...args) => { const done = args.pop(); later(() => pbkdf2Sync(...args), done); },
  scryptSync, scrypt: (...args) => { const done = args.pop(); later(() => scryptSync(...args), done); },
  timingSafeEqual(a, b) {
    for (const [name, value] of Object.entries({ buf1: a, buf2: b })) {
      if (typeof value === "string") throw Object.assign(new TypeError(`The "${name}" argument must be an instance of ArrayBuffer, Buffer, TypedArray, or DataView.`), { code: "ERR_INVALID_ARG_TYPE" });
    }
    const [x, y] = [bytesOf(a), bytesOf(b)];
    if (x.length !== y.length) throw Object.assign(new RangeError("Input buffers must have the same byte length"),
      { code: "ERR_CRYPTO_TIMING_SAFE_EQUAL_LENGTH" });
    let difference = 0;
    for (let i = 0; i < x.length; i++) difference |= x[i] ^ y[i];
    return difference === 0;
  },
  getHashes: () => ["md5", "ripemd160", "sha1", "sha224", "sha256", "sha384", "sha512", "sha512-256", "sha3-256", "sha3-512"],
  getCiphers: () => ["aes-128-cbc", "aes-128-ctr", "aes-128-ecb", "aes-128-gcm", "aes-192-cbc", "aes-192-ctr", "aes-192-gcm", "aes-256-cbc",
  "aes-256-ctr", "aes-256-ecb", "aes-256-gcm", "chacha20-poly1305"],
  constants: { RSA_PKCS1_PADDING: 1, RSA_PKCS1_PSS_PADDING, RSA_PSS_SALTLEN_DIGEST: -1, RSA_PSS_SALTLEN_MAX_SIGN: -2, RSA_PSS_SALTLEN_AUTO: -2 },
  getRandomValues: target => randomFillSync(target),
  // Packages look for these when they are loaded, also if they don't use them.
  ...Object.fromEntries(["createDiffieHellman", "createDiffieHellmanGroup", "createECDH", "diffieHellman", "generateKey", "generateKeySync", "generateKeyPair",
    "generateKeyPairSync", "hkdf", "hkdfSync", "publicEncrypt", "publicDecrypt", "privateEncrypt", "privateDecrypt"].map(name =>
    [name, () => { throw refused(`crypto.${name}`); }])),
  get webcrypto() { return { getRandomValues: randomFillSync, randomUUID }; },
};

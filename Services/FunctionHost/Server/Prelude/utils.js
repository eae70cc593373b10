// `utils.crypto` and `utils.jwt`, implemented with the host's operations.
const { toBase64, fromBase64, toUTF8, fromUTF8, hex, operate, randomBytes } = octets();
const binary = bytes => bson().make("Binary", bytes);
const bytesOf = value => typeof value === "string" ? toUTF8(value) : value?.buffer instanceof Uint8Array ? value.buffer : value;
const coded = value => toBase64(bytesOf(value));
const only = (given, wanted, what) => {
  if (given !== wanted) throw new Error(`the ${what} '${given}' is not supported, only '${wanted}' is`);
};
const crypto = {
  hash: (name, input) => binary(operate("hash", name, coded(input))),
  hmac: (input, secret, name, format) => {
    const bytes = operate("hmac", name, coded(input), coded(secret));
    if (format === "hex") return hex(bytes);
    only(format, "base64", "output format");
    return toBase64(bytes);
  },
  encrypt: (type, message, key) => {
    only(type, "aes", "encryption type");
    return binary(operate("seal", coded(message), coded(key), toBase64(randomBytes(32))));
  },
  decrypt: (type, message, key) => {
    only(type, "aes", "encryption type");
    return binary(operate("open", coded(message), coded(key)));
  },
  sign: (type, message, key, scheme = "pss") => {
    only(type, "rsa", "encryption type");
    return binary(operate("sign", "sha256", scheme, coded(key), coded(message)));
  },
  verify: (type, message, key, signature, scheme = "pss") => {
    only(type, "rsa", "encryption type");
    return operate("verify", "sha256", scheme, coded(key), coded(message), coded(signature))[0] === 1;
  },
};

const toBase64URL = bytes => toBase64(bytes).replace(/\+/g, "-").replace(/\//g, "_").replace(/=+$/, "");
const schemes = { RS: "pkcs1v15", PS: "jose-pss", ES: "ecdsa" };
function methodOf(name) {
  const [, family, bits] = /^(HS|RS|PS|ES)(256|384|512)$/.exec(name) ?? [];
  if (!family) throw new Error(`the signing method '${name}' is not supported`);
  return { family, hash: "sha" + bits };
}
function sameBytes(a, b) {
  let difference = a.length ^ b.length;
  for (let i = 0; i < a.length; i++) difference |= a[i] ^ (b[i] ?? 0);
  return difference === 0;
}
const jwt = {
  encode: (method, payload, secret, header = {}) => {
    const { family, hash } = methodOf(method);
    const part = value => toBase64URL(toUTF8(JSON.stringify(value)));
    const text = part({ ...header, alg: method, typ: "JWT" }) + "." + part(toEJSON(payload, true));
    const signature = family === "HS" ? operate("hmac", hash, coded(text), coded(secret))
      : operate("sign", hash, schemes[family], coded(secret), coded(text));
    return text + "." + toBase64URL(signature);
  },
  decode: (token, key, returnHeader = false, accepted = undefined) => {
    const parts = String(token).split(".");
    if (parts.length !== 3) throw new Error("the token is malformed");
    const read = text => { try { return JSON.parse(fromUTF8(fromBase64(text))); } catch { throw new Error("the token is malformed"); } };
    const header = read(parts[0]), { family, hash } = methodOf(header.alg);
    if (accepted && !accepted.includes(header.alg)) throw new Error(`the signing method '${header.alg}' is not accepted`);
    // A public key isn't secret: anyone who knows it could sign a token with it if it were accepted as a secret.
    if (family === "HS" && /-----BEGIN/.test(String(key))) throw new Error("a public key can't verify a token with a secret's method");
    const text = coded(parts[0] + "." + parts[1]), signature = fromBase64(parts[2]);
    const isValid = family === "HS" ? sameBytes(operate("hmac", hash, text, coded(key)), signature)
      : operate("verify", hash, schemes[family], coded(key), text, toBase64(signature))[0] === 1;
    if (!isValid) throw new Error("the token's signature is invalid");
    const payload = read(parts[1]);
    if (typeof payload.exp === "number" && payload.exp * 1000 <= Date.now()) throw new Error("the token is expired");
    if (typeof payload.nbf === "number" && payload.nbf * 1000 > Date.now()) throw new Error("the token is not valid yet");
    return returnHeader ? { header, payload: fromEJSON(payload) } : fromEJSON(payload);
  },
};
return { utils: { crypto, jwt } };

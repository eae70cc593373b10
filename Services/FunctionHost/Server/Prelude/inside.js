// What Node's modules that are written for this host use.
const { operate } = crypto(), { toBase64, fromBase64, toUTF8, fromUTF8, toLatin1 } = octets();
// Random bytes that can't be predicted. A run that must be repeatable asks its parent for a key, which the parent answers in the same
// way when the run is repeated.
let randomKey, drawn = 0;
function secureBytes(count) {
  if (!isRepeatable) return operate("random", String(count));
  randomKey ??= host("randomKey", String(ordinal++));
  const bytes = new Uint8Array(count);
  for (let at = 0; at < count; at += 32) {
    bytes.set(operate("hmac", "sha256", toBase64(toUTF8(String(drawn++))), randomKey).subarray(0, count - at), at);
  }
  return bytes;
}
const atob = text => {
  const clean = String(text).replace(/[\t\n\f\r ]/g, "");
  if (!/^[A-Za-z0-9+/]*={0,2}$/.test(clean) || clean.replace(/=+$/, "").length % 4 === 1) throw new Error("the text isn't Base64");
  return toLatin1(fromBase64(clean));
};
function btoa(value) {
  const text = String(value), bytes = new Uint8Array(text.length);
  for (let i = 0; i < text.length; i++) {
    const code = text.charCodeAt(i);
    if (code > 255) throw new Error("btoa takes characters up to U+00FF");
    bytes[i] = code;
  }
  return toBase64(bytes);
}
return {
  operate, toBase64, fromBase64, toUTF8, fromUTF8, secureBytes, atob, btoa,
  request: (method, request) => effects().asking(root)("http", method, request),
};

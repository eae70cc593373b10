// Bytes as text.
const hex = bytes => Array.from(bytes, byte => byte.toString(16).padStart(2, "0")).join("");
const fromHex = text => Uint8Array.from(text.match(/../g) ?? [], pair => parseInt(pair, 16));
const alphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
function toBase64(bytes) {
  let text = "";
  for (let i = 0; i < bytes.length; i += 3) {
    const n = bytes[i] << 16 | (bytes[i + 1] ?? 0) << 8 | (bytes[i + 2] ?? 0);
    text += alphabet[n >> 18] + alphabet[n >> 12 & 63]
      + (i + 1 < bytes.length ? alphabet[n >> 6 & 63] : "=") + (i + 2 < bytes.length ? alphabet[n & 63] : "=");
  }
  return text;
}
function fromBase64(text) {
  const clean = text.replace(/-/g, "+").replace(/_/g, "/").replace(/[^A-Za-z0-9+/]/g, "");
  const bytes = new Uint8Array(clean.length * 3 >> 2);
  let n = 0, bits = 0, at = 0;
  for (const character of clean) {
    n = n << 6 | alphabet.indexOf(character);
    bits += 6;
    if (bits >= 8) { bits -= 8; bytes[at++] = n >> bits & 255; n &= (1 << bits) - 1; }
  }
  return bytes;
}
const toUTF8 = text => Uint8Array.from(unescape(encodeURIComponent(text.toWellFormed())), c => c.charCodeAt(0));
const fromUTF8 = bytes => {
  let text = "";
  for (let i = 0; i < bytes.length; i += 8192) text += String.fromCharCode(...bytes.subarray(i, i + 8192));
  try { return decodeURIComponent(escape(text)); } catch { return text; }
};
const randomBytes = count => Uint8Array.from({ length: count }, () => Math.floor(Math.random() * 256));
return { hex, fromHex, toBase64, fromBase64, toUTF8, fromUTF8, randomBytes };

// Bytes as text.
const hex = bytes => Array.from(bytes, byte => byte.toString(16).padStart(2, "0")).join("");
const fromHex = text => Uint8Array.from(text.match(/../g) ?? [], pair => parseInt(pair, 16));
const alphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
// Millions of bytes are usual, such as those of a photo: a text that grows by a few characters at a time would take a hundred times their size.
function toLatin1(bytes) {
  const parts = [];
  for (let i = 0; i < bytes.length; i += 8192) parts.push(String.fromCharCode.apply(null, bytes.subarray(i, i + 8192)));
  return parts.join("");
}
const codes = lazily(() => Uint8Array.from(alphabet, character => character.charCodeAt(0)));
function toBase64(bytes) {
  const table = codes(), text = new Uint8Array(Math.ceil(bytes.length / 3) * 4);
  let at = 0;
  for (let i = 0; i < bytes.length; i += 3) {
    const n = bytes[i] << 16 | (bytes[i + 1] ?? 0) << 8 | (bytes[i + 2] ?? 0);
    text[at++] = table[n >> 18];
    text[at++] = table[n >> 12 & 63];
    text[at++] = i + 1 < bytes.length ? table[n >> 6 & 63] : 61;
    text[at++] = i + 2 < bytes.length ? table[n & 63] : 61;
  }
  return toLatin1(text);
}
const digits = lazily(() => {
  const table = new Int8Array(128).fill(-1);
  for (let i = 0; i < 64; i++) table[alphabet.charCodeAt(i)] = i;
  table[45] = 62;
  table[95] = 63;
  return table;
});
// What is no digit is passed over; "-" and "_" are those of URLs.
function fromBase64(text) {
  const table = digits(), bytes = new Uint8Array(text.length * 3 >> 2);
  let n = 0, bits = 0, at = 0;
  for (let i = 0; i < text.length; i++) {
    const digit = table[text.charCodeAt(i)] ?? -1;
    if (digit < 0) continue;
    n = n << 6 | digit;
    bits += 6;
    if (bits >= 8) { bits -= 8; bytes[at++] = n >> bits & 255; n &= (1 << bits) - 1; }
  }
  return at === bytes.length ? bytes : bytes.slice(0, at);
}
function toUTF8(text) {
  const whole = text.toWellFormed();
  let count = 0;
  for (let i = 0; i < whole.length; i++) {
    const code = whole.charCodeAt(i);
    count += code < 0x80 ? 1 : code < 0x800 ? 2 : code >= 0xd800 && code < 0xe000 ? 2 : 3;
  }
  const bytes = new Uint8Array(count);
  let at = 0;
  for (let i = 0; i < whole.length; i++) {
    let code = whole.charCodeAt(i);
    if (code < 0x80) { bytes[at++] = code; continue; }
    if (code < 0x800) { bytes[at++] = 0xc0 | code >> 6; }
    else {
      if (code >= 0xd800 && code < 0xe000) {
        code = (code - 0xd800 << 10) + whole.charCodeAt(++i) - 0xdc00 + 0x10000;
        bytes[at++] = 0xf0 | code >> 18;
        bytes[at++] = 0x80 | code >> 12 & 63;
      } else bytes[at++] = 0xe0 | code >> 12;
      bytes[at++] = 0x80 | code >> 6 & 63;
    }
    bytes[at++] = 0x80 | code & 63;
  }
  return bytes;
}
// Bytes that aren't UTF-8 become U+FFFD, as everywhere on the web.
function fromUTF8(bytes) {
  if (bytes.every(byte => byte < 0x80)) return toLatin1(bytes);
  const parts = [];
  for (let i = 0; i < bytes.length;) {
    let end = Math.min(i + 8192, bytes.length);
    while (end < bytes.length && (bytes[end] & 0xc0) === 0x80) end++;
    const part = bytes.subarray(i, end);
    try { parts.push(decodeURIComponent(escape(toLatin1(part)))); } catch { parts.push(repaired(part)); }
    i = end;
  }
  return parts.join("");
}
// What begins like a character is replaced as a whole up to the first byte that can't belong to it (Unicode, table 3-7).
function repaired(bytes) {
  const parts = [];
  for (let i = 0; i < bytes.length;) {
    const first = bytes[i++], count = first < 0xc2 || first > 0xf4 ? 0 : first < 0xe0 ? 1 : first < 0xf0 ? 2 : 3;
    let code = first & 0x3f >> count, left = count;
    let least = first === 0xe0 ? 0xa0 : first === 0xf0 ? 0x90 : 0x80, most = first === 0xed ? 0x9f : first === 0xf4 ? 0x8f : 0xbf;
    for (; left > 0 && bytes[i] >= least && bytes[i] <= most; left--) {
      code = code << 6 | bytes[i++] & 0x3f;
      [least, most] = [0x80, 0xbf];
    }
    parts.push(first < 0x80 ? String.fromCharCode(first) : count > 0 && left === 0 ? String.fromCodePoint(code) : "\ufffd");
  }
  return parts.join("");
}
// Operations on bytes that the host carries out.
function operate(...words) {
  const answer = host("crypto", ...words);
  if (!answer?.startsWith("+")) throw new Error(answer?.slice(1) ?? "cryptography is not supported");
  return fromBase64(answer.slice(1));
}
// Random bytes that can't be predicted. A run that must be repeatable asks its parent for a key, which it answers in the same
// way when the run is repeated.
let randomKey, drawn = 0;
function randomBytes(count) {
  if (seed === "") return operate("random", String(count));
  randomKey ??= host("randomKey", String(ordinal++));
  const bytes = new Uint8Array(count);
  for (let at = 0; at < count; at += 32) {
    bytes.set(operate("hmac", "sha256", toBase64(toUTF8(String(drawn++))), randomKey).subarray(0, count - at), at);
  }
  return bytes;
}
return { hex, fromHex, toBase64, fromBase64, toUTF8, fromUTF8, toLatin1, operate, randomBytes };

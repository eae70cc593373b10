// Punycode (RFC 3492), with the parameters of internationalized names.
const base = 36, tMin = 1, tMax = 26, skew = 38, damp = 700, initialBias = 72, initialN = 128, limit = 0x7fffffff;
const wrong = text => { throw new RangeError(text); };
function adapted(delta, count, isFirst) {
  let rest = Math.floor(isFirst ? delta / damp : delta / 2), k = 0;
  rest += Math.floor(rest / count);
  for (; rest > (base - tMin) * tMax >> 1; k += base) rest = Math.floor(rest / (base - tMin));
  return Math.floor(k + (base - tMin + 1) * rest / (rest + skew));
}
const threshold = (k, bias) => Math.min(tMax, Math.max(tMin, k - bias));
const digit = value => String.fromCharCode(value + (value < 26 ? 97 : 22));
function valueOf(code) {
  if (code >= 48 && code < 58) return code - 22;
  if (code >= 65 && code < 91) return code - 65;
  return code >= 97 && code < 123 ? code - 97 : wrong("Invalid input");
}
const ucs2 = {
  decode: text => Array.from(String(text), character => character.codePointAt(0)),
  encode: points => points.map(point => String.fromCodePoint(point)).join(""),
};
function decode(text) {
  const start = Math.max(0, text.lastIndexOf("-"));
  const points = Array.from(text.slice(0, start), character => {
    if (character.codePointAt(0) >= 128) wrong("Illegal input >= 0x80 (not a basic code point)");
    return character.codePointAt(0);
  });
  let n = initialN, i = 0, bias = initialBias;
  for (let at = start > 0 ? start + 1 : 0; at < text.length;) {
    const before = i;
    for (let weight = 1, k = base; ; k += base) {
      if (at >= text.length) wrong("Invalid input");
      const value = valueOf(text.charCodeAt(at++));
      i += value * weight;
      if (i > limit) wrong("Overflow: input needs wider integers to process");
      const t = threshold(k, bias);
      if (value < t) break;
      weight *= base - t;
    }
    const count = points.length + 1;
    bias = adapted(i - before, count, before === 0);
    n += Math.floor(i / count);
    if (n > 0x10ffff) wrong("Overflow: input needs wider integers to process");
    i %= count;
    points.splice(i++, 0, n);
  }
  return ucs2.encode(points);
}
function encode(text) {
  const points = ucs2.decode(text), basic = points.filter(point => point < 128);
  let output = ucs2.encode(basic), handled = basic.length, n = initialN, delta = 0, bias = initialBias;
  if (handled) output += "-";
  while (handled < points.length) {
    const next = points.reduce((least, point) => point >= n && point < least ? point : least, limit);
    delta += (next - n) * (handled + 1);
    if (delta > limit) wrong("Overflow: input needs wider integers to process");
    n = next;
    for (const point of points) {
      if (point < n) delta++;
      if (point !== n) continue;
      let q = delta;
      for (let k = base; ; k += base) {
        const t = threshold(k, bias);
        if (q < t) break;
        output += digit(t + (q - t) % (base - t));
        q = Math.floor((q - t) / (base - t));
      }
      output += digit(q);
      bias = adapted(delta, handled + 1, handled === basic.length);
      delta = 0;
      handled++;
    }
    delta++;
    n++;
  }
  return output;
}
// Of an address, only the part after the last @ is a name; names are separated by the dots that RFC 3490 lists.
function each(text, change) {
  const at = text.lastIndexOf("@") + 1;
  return text.slice(0, at) + text.slice(at).replace(/[\u3002\uff0e\uff61]/g, ".").split(".").map(change).join(".");
}
module.exports = {
  version: "2.3.1", ucs2, decode, encode,
  toASCII: text => each(text, label => /[^\0-\x7f]/.test(label) ? "xn--" + encode(label) : label),
  toUnicode: text => each(text, label => label.startsWith("xn--") ? decode(label.slice(4).toLowerCase()) : label),
};

// What Node's modules that are written for this host use.
const { toBase64, fromBase64, toUTF8, fromUTF8, toLatin1, operate, randomBytes } = octets();
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
  operate, toBase64, fromBase64, toUTF8, fromUTF8, secureBytes: randomBytes, atob, btoa,
  request: (method, request) => effects().asking(root)("http", method, request),
};

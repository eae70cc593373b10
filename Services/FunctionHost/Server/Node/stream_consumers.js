// What is in a stream, as a whole.
const { Buffer } = require("buffer");
async function buffer(stream) {
  const parts = [];
  for await (const part of stream) parts.push(typeof part === "string" ? Buffer.from(part) : part);
  return Buffer.concat(parts);
}
const text = async stream => (await buffer(stream)).toString();
module.exports = {
  buffer, text, json: async stream => JSON.parse(await text(stream)),
  arrayBuffer: async stream => { const all = await buffer(stream); return all.buffer.slice(all.byteOffset, all.byteOffset + all.byteLength); },
};

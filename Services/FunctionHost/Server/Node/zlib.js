// Compression by zlib in the host. A stream takes all of its input before it gives its output.
const { Transform } = require("stream"), { Buffer } = require("buffer");
const constants = {
  Z_NO_FLUSH: 0, Z_PARTIAL_FLUSH: 1, Z_SYNC_FLUSH: 2, Z_FULL_FLUSH: 3, Z_FINISH: 4, Z_BLOCK: 5, Z_OK: 0, Z_STREAM_END: 1, Z_NEED_DICT: 2, Z_ERRNO: -1,
  Z_STREAM_ERROR: -2, Z_DATA_ERROR: -3, Z_MEM_ERROR: -4, Z_BUF_ERROR: -5, Z_VERSION_ERROR: -6, Z_NO_COMPRESSION: 0, Z_BEST_SPEED: 1,
  Z_BEST_COMPRESSION: 9,
  Z_DEFAULT_COMPRESSION: -1, Z_FILTERED: 1, Z_HUFFMAN_ONLY: 2, Z_RLE: 3, Z_FIXED: 4, Z_DEFAULT_STRATEGY: 0, Z_MIN_WINDOWBITS: 8,
  Z_MAX_WINDOWBITS: 15, Z_DEFAULT_WINDOWBITS: 15,
};
// The operations, with zlib's window bits: 15 for zlib's format, 31 for gzip's, -15 for none, 47 for whichever it is.
const operations = {
  deflate: ["deflate", 15], inflate: ["inflate", 15], gzip: ["deflate", 31], gunzip: ["inflate", 31], deflateRaw: ["deflate", -15],
  inflateRaw: ["inflate", -15], unzip: ["inflate", 47],
};
function run(name, data, options) {
  const [operation, bits] = operations[name], bytes = typeof data === "string" ? Buffer.from(data) : data instanceof ArrayBuffer ? new Uint8Array(data) : new Uint8Array(data.buffer, data.byteOffset, data.byteLength);
  try {
    return Buffer.from(inside.operate(operation, String(bits), String(options?.level ?? -1), inside.toBase64(bytes)));
  } catch (error) {
    throw Object.assign(error, { code: "Z_DATA_ERROR", errno: -3 });
  }
}
module.exports = { constants, ...constants };
for (const name of Object.keys(operations)) {
  module.exports[name + "Sync"] = (data, options) => run(name, data, options);
  module.exports[name] = (data, options, done) => {
    if (typeof options === "function") [options, done] = [undefined, options];
    let result, failure = null;
    try { result = run(name, data, options); } catch (error) { failure = error; }
    setImmediate(() => done(failure, result));
  };
  module.exports["create" + name[0].toUpperCase() + name.slice(1)] = options => {
    const chunks = [];
    return new Transform({
      transform(chunk, encoding, done) { chunks.push(typeof chunk === "string" ? Buffer.from(chunk, encoding) : chunk); done(); },
      flush(done) {
        try { this.push(run(name, Buffer.concat(chunks), options)); } catch (error) { return done(error); }
        done();
      },
    });
  };
}

// `http` and `https`: requests by `context.http`, and nothing else. A body is sent when it is complete, and a response arrives complete.
const { EventEmitter } = require("events"), { Writable, Readable } = require("stream"), { Buffer } = require("buffer"), url = require("url");
const METHODS = ["CONNECT", "DELETE", "GET", "HEAD", "OPTIONS", "PATCH", "POST", "PUT", "TRACE"];
const STATUS_CODES = { 200: "OK", 201: "Created", 202: "Accepted", 204: "No Content", 301: "Moved Permanently", 302: "Found", 303: "See Other",
  304: "Not Modified", 307: "Temporary Redirect", 308: "Permanent Redirect", 400: "Bad Request", 401: "Unauthorized", 403: "Forbidden",
  404: "Not Found", 405: "Method Not Allowed", 409: "Conflict", 410: "Gone", 413: "Payload Too Large", 415: "Unsupported Media Type",
  422: "Unprocessable Entity", 429: "Too Many Requests", 500: "Internal Server Error", 501: "Not Implemented", 502: "Bad Gateway",
  503: "Service Unavailable", 504: "Gateway Timeout" };
class Agent extends EventEmitter {
  constructor(options = {}) { super(); this.options = options; }
  destroy() {}
}
class IncomingMessage extends Readable {
  constructor({ statusCode, headers, body }, request) {
    super({ read() {} });
    Object.assign(this, { statusCode, statusMessage: STATUS_CODES[statusCode] ?? "", headers: {}, rawHeaders: [], httpVersion: "1.1", complete: true, aborted: false, req: request, socket: request.socket, url: "", trailers: {} });
    for (const [name, values] of Object.entries(headers)) {
      const key = name.toLowerCase();
      for (const value of values) this.rawHeaders.push(name, value);
      this.headers[key] = key === "set-cookie" ? [...this.headers[key] ?? [], ...values] : values.join(", ");
    }
    if (body.length) this.push(Buffer.from(body));
    this.push(null);
  }
  setTimeout() { return this; }
}
class ClientRequest extends Writable {
  #chunks = []; #headers = new Map(); #timer; #isOver = false;
  constructor(given, options, scheme) {
    super({ write: (chunk, encoding, done) => { this.#chunks.push(typeof chunk === "string" ? Buffer.from(chunk, encoding) : chunk); done(); } });
    const parts = { ...typeof given === "string" ? url.urlToHttpOptions(new url.URL(given)) : given instanceof url.URL ? url.urlToHttpOptions(given) : given, ...options };
    this.method = (parts.method ?? "GET").toUpperCase();
    this.protocol = parts.protocol ?? scheme;
    this.host = parts.hostname ?? (parts.host ?? "localhost").replace(/:\d+$/, "");
    const port = parts.port ?? /:(\d+)$/.exec(parts.host ?? "")?.[1];
    this.path = parts.path ?? "/";
    this.href = `${this.protocol}//${this.host.includes(":") && !this.host.startsWith("[") ? `[${this.host}]` : this.host}${port ? ":" + port : ""}${this.path.startsWith("/") ? "" : "/"}${this.path}`;
    for (const [name, value] of Object.entries(parts.headers ?? {})) this.setHeader(name, value);
    if (parts.auth && !this.hasHeader("authorization")) this.setHeader("Authorization", "Basic " + Buffer.from(parts.auth).toString("base64"));
    this.socket = Object.assign(new EventEmitter(), { setKeepAlive() {}, setNoDelay() {}, setTimeout() {}, destroy() {}, encrypted: this.protocol === "https:", remoteAddress: this.host });
    this.connection = this.socket;
    this.aborted = false;
    if (parts.timeout) this.setTimeout(parts.timeout);
    this.once("finish", () => { this.#send(); });
    setImmediate(() => { if (!this.#isOver) this.emit("socket", this.socket); });
  }
  setHeader(name, value) { this.#headers.set(String(name).toLowerCase(), [String(name), value]); return this; }
  getHeader(name) { return this.#headers.get(String(name).toLowerCase())?.[1]; }
  hasHeader(name) { return this.#headers.has(String(name).toLowerCase()); }
  removeHeader(name) { this.#headers.delete(String(name).toLowerCase()); }
  getHeaders() { return Object.fromEntries([...this.#headers].map(([name, [, value]]) => [name, value])); }
  getHeaderNames() { return [...this.#headers.keys()]; }
  flushHeaders() {}
  setNoDelay() {}
  setSocketKeepAlive() {}
  setTimeout(milliseconds, body) {
    if (body) this.once("timeout", body);
    clearTimeout(this.#timer);
    if (milliseconds > 0) this.#timer = setTimeout(() => { if (!this.#isOver) this.emit("timeout"); }, milliseconds);
    return this;
  }
  abort() { this.aborted = true; this.emit("abort"); this.destroy(); }
  _destroy(error, done) {
    const wasOver = this.#isOver;
    this.#isOver = true;
    clearTimeout(this.#timer);
    done(error ?? (wasOver ? null : Object.assign(new Error("socket hang up"), { code: "ECONNRESET" })));
  }
  async #send() {
    const headers = {};
    for (const [key, [name, value]] of this.#headers) {
      // These belong to the connection, which isn't the function's.
      if (["host", "connection", "content-length", "transfer-encoding"].includes(key) || value === undefined) continue;
      headers[name] = [].concat(value).map(String);
    }
    const body = Buffer.concat(this.#chunks.map(chunk => Buffer.from(chunk)));
    try {
      const answer = await inside.request(this.method.toLowerCase(), {
        url: this.href, headers, ...body.length || ["POST", "PUT", "PATCH"].includes(this.method) ? { body } : {} });
      if (this.#isOver) return;
      this.#isOver = true;
      clearTimeout(this.#timer);
      this.res = new IncomingMessage({ ...answer, body: answer.body.buffer }, this);
      if (!this.emit("response", this.res)) this.res.resume();
      this.emit("close");
    } catch (error) {
      if (this.#isOver) return;
      this.#isOver = true;
      clearTimeout(this.#timer);
      this.emit("error", Object.assign(error, { code: error.code ?? (error.name === "RestrictedHost" ? "EACCES" : "ECONNREFUSED") }));
    }
  }
}
const refuse = name => () => { throw new Error(`http.${name} is not supported: a function answers by its result`); };
// The module for a scheme: `http` or `https`.
function of(scheme) {
  function request(given, options, done) {
    if (typeof options === "function") [options, done] = [undefined, options];
    const made = new ClientRequest(given, options, scheme);
    if (done) made.once("response", done);
    return made;
  }
  const get = (...args) => { const made = request(...args); made.end(); return made; };
  return {
    request, get, Agent, globalAgent: new Agent(), ClientRequest, IncomingMessage, METHODS, STATUS_CODES, maxHeaderSize: 16384,
    createServer: refuse("createServer"), Server: refuse("Server"),
  };
}
module.exports = { of };

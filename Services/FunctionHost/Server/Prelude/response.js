// The second argument of a function that answers an HTTPS endpoint: `function (request, response)`.
class Response {
  #statusCode = 200; #headers = new Map(); #body; #isSet = false;
  setStatusCode(code) {
    if (!Number.isInteger(code) || code < 100 || code > 599) throw new RangeError(`${code} is no status code`);
    this.#statusCode = code;
    this.#isSet = true;
  }
  setHeader(name, value) {
    this.#headers.set(String(name).toLowerCase(), [String(name), [String(value)]]);
    this.#isSet = true;
  }
  addHeader(name, value) {
    const present = this.#headers.get(String(name).toLowerCase());
    if (present) present[1].push(String(value)); else this.setHeader(name, value);
  }
  setBody(body) {
    if (typeof body !== "string" && !(body instanceof bson().type("Binary")) && !ArrayBuffer.isView(body)) {
      throw new TypeError("setBody takes a text or a BSON.Binary: use JSON.stringify or EJSON.stringify");
    }
    this.#body = body;
    this.#isSet = true;
  }
  document() { return { statusCode: this.#statusCode, headers: Object.fromEntries(this.#headers.values()), body: this.#body, isSet: this.#isSet }; }
}
return { Response };

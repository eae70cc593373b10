// The WHATWG URL Standard for URLs with an authority, and Node's older interface.
const ports = { "http:": "80", "https:": "443", "ws:": "80", "wss:": "443", "ftp:": "21" };
const isSpecial = protocol => Object.hasOwn(ports, protocol) || protocol === "file:";
const encoded = (text, unsafe) => text.toWellFormed().replace(unsafe, part => encodeURIComponent(part).replace(/'/g, "%27"));
const inPath = /[\u0000-\u0020"#<>?`{}]|[^\u0000-\u007e]+/g, inQuery = /[\u0000-\u0020"#<>']|[^\u0000-\u007e]+/g;
const inHash = /[\u0000-\u0020"<>`]|[^\u0000-\u007e]+/g, inUser = /[\u0000-\u0020"#<>?`{}/:;=@[\\\]^|]|[^\u0000-\u007e]+/g;
const invalid = input => Object.assign(new TypeError("Invalid URL"), { code: "ERR_INVALID_URL", input });
function normalized(path) {
  const parts = [], all = path.split("/");
  all.slice(1).forEach((part, index) => {
    const plain = part.replace(/%2e/gi, "."), isLast = index === all.length - 2;
    if (plain === "..") { parts.pop(); if (isLast) parts.push(""); } else if (plain === ".") { if (isLast) parts.push(""); } else parts.push(part);
  });
  return "/" + parts.join("/");
}
function hostOf(text, protocol, input) {
  if (!isSpecial(protocol)) return text;
  if (text.startsWith("[")) return text.toLowerCase();
  let name;
  try { name = decodeURIComponent(text).toLowerCase(); } catch { throw invalid(input); }
  if (name === "" && protocol !== "file:" || /[\s#%/:<>?@[\\\]^|]/.test(name)) throw invalid(input);
  if (/[^\u0000-\u007f]/.test(name)) throw Object.assign(invalid(input), { message: "Invalid URL: write the host in its ASCII form (xn--…)" });
  return name;
}
function parsed(input, base) {
  let text = String(input).replace(/^[\u0000-\u0020]+|[\u0000-\u0020]+$/g, "").replace(/[\t\n\r]/g, "");
  let hash = "", search = "";
  const take = mark => { const at = text.indexOf(mark), rest = at < 0 ? "" : text.slice(at); if (at >= 0) text = text.slice(0, at); return rest.length > 1 ? rest : ""; };
  const scheme = /^([a-z][a-z0-9+.-]*):/i.exec(text);
  if (!scheme && !base) throw invalid(input);
  const hasSearch = text.split("#")[0].includes("?"), hasHash = text.includes("#");
  hash = encoded(take("#"), inHash);
  const protocol = scheme ? scheme[1].toLowerCase() + ":" : base.protocol;
  search = encoded(take("?"), inQuery);
  if (scheme) text = text.slice(scheme[0].length);
  if (isSpecial(protocol)) text = text.replace(/\\/g, "/");
  const isRelative = !scheme || base && protocol === base.protocol && isSpecial(protocol) && !text.startsWith("/");
  if (isRelative && base && !text.startsWith("//")) {
    const { username, password, hostname, port } = base;
    const path = text === "" ? base.pathname : text.startsWith("/") ? text : base.pathname.replace(/[^/]*$/, "") + text;
    return {
      protocol, username, password, hostname, port, pathname: text === "" ? path : normalized(encoded(path, inPath)),
      search: text === "" && !hasSearch ? base.search : search, hash: hasHash ? hash : "",
    };
  }
  if (!isSpecial(protocol) && !text.startsWith("//")) return { protocol, username: "", password: "", hostname: "", port: "", pathname: text,
    search, hash, isOpaque: true };
  const [, authority, path] = /^\/*([^/]*)([^]*)$/.exec(isSpecial(protocol) ? text : text.slice(2));
  const at = authority.lastIndexOf("@"), [, user = "", password = ""] = at < 0 ? [] : /^([^:]*):?([^]*)$/.exec(authority.slice(0, at));
  const [, host, port = ""] = /^(\[[^\]]*\]|[^:]*)(?::(\d*))?$/.exec(authority.slice(at + 1)) ?? (() => { throw invalid(input); })();
  if (Number(port) > 65535) throw invalid(input);
  const number = port === "" ? "" : String(Number(port));
  return {
    protocol, username: encoded(user, inUser), password: encoded(password, inUser), hostname: hostOf(host, protocol, input),
    port: number === ports[protocol] ? "" : number, pathname: path || isSpecial(protocol) ? normalized(encoded(path || "/", inPath)) : "",
    search, hash,
  };
}

const formEncoded = text => encodeURIComponent(String(text).toWellFormed()).replace(/%20/g, "+")
  .replace(/[!'()~]/g, c => "%" + c.charCodeAt(0).toString(16).toUpperCase());
const formDecoded = text => { const plain = text.replace(/\+/g, " "); try { return decodeURIComponent(plain); } catch { return unescape(plain); } };
class URLSearchParams {
  #pairs = []; #changed = () => {};
  constructor(init = "", changed) {
    if (changed) this.#changed = changed;
    if (init && typeof init === "object") {
      const pairs = typeof init[Symbol.iterator] === "function" ? [...init] : Object.keys(init).map(name => [name, init[name]]);
      this.#pairs = pairs.map(([name, value]) => [String(name), String(value)]);
    } else {
      for (const part of String(init).replace(/^\?/, "").split("&")) {
        if (part === "") continue;
        const at = part.indexOf("=");
        this.#pairs.push([formDecoded(at < 0 ? part : part.slice(0, at)), at < 0 ? "" : formDecoded(part.slice(at + 1))]);
      }
    }
  }
  #change(pairs) { this.#pairs = pairs; this.#changed(this.toString()); }
  get size() { return this.#pairs.length; }
  append(name, value) { this.#change([...this.#pairs, [String(name), String(value)]]); }
  delete(name, value) { this.#change(this.#pairs.filter(pair => pair[0] !== String(name) || value !== undefined && pair[1] !== String(value))); }
  get(name) { return this.#pairs.find(pair => pair[0] === String(name))?.[1] ?? null; }
  getAll(name) { return this.#pairs.filter(pair => pair[0] === String(name)).map(pair => pair[1]); }
  has(name, value) { return this.#pairs.some(pair => pair[0] === String(name) && (value === undefined || pair[1] === String(value))); }
  set(name, value) {
    const at = this.#pairs.findIndex(pair => pair[0] === String(name));
    if (at < 0) return this.append(name, value);
    this.#change(this.#pairs.flatMap((pair, index) => index === at ? [[pair[0], String(value)]] : pair[0] === String(name) ? [] : [pair]));
  }
  // JavaScript's sort is stable, and compares code units, as the standard demands.
  sort() { this.#change([...this.#pairs].sort(([a], [b]) => a < b ? -1 : a > b ? 1 : 0)); }
  forEach(body, self) { for (const [name, value] of this.#pairs) body.call(self, value, name, this); }
  keys() { return this.#pairs.map(pair => pair[0])[Symbol.iterator](); }
  values() { return this.#pairs.map(pair => pair[1])[Symbol.iterator](); }
  entries() { return this.#pairs.map(pair => [...pair])[Symbol.iterator](); }
  [Symbol.iterator]() { return this.entries(); }
  toString() { return this.#pairs.map(([name, value]) => `${formEncoded(name)}=${formEncoded(value)}`).join("&"); }
  get [Symbol.toStringTag]() { return "URLSearchParams"; }
}
class URL {
  #parts; #params;
  constructor(input, base) { this.#set(parsed(input, base === undefined ? undefined : base instanceof URL ? base : new URL(base))); }
  static canParse(input, base) { try { new URL(input, base); return true; } catch { return false; } }
  #set(parts) { this.#parts = parts; this.#params = undefined; }
  get protocol() { return this.#parts.protocol; }
  set protocol(value) { this.#parts.protocol = String(value).replace(/:.*$/, "").toLowerCase() + ":"; }
  get username() { return this.#parts.username; } set username(value) { this.#parts.username = encoded(String(value), inUser); }
  get password() { return this.#parts.password; } set password(value) { this.#parts.password = encoded(String(value), inUser); }
  get hostname() { return this.#parts.hostname; } set hostname(value) { this.#parts.hostname = hostOf(String(value), this.protocol, value); }
  get port() { return this.#parts.port; } set port(value) { this.#parts.port = String(value) === ports[this.protocol] ? "" : String(value); }
  get host() { return this.hostname + (this.port ? ":" + this.port : ""); }
  set host(value) { const [, name, port] = /^(\[[^\]]*\]|[^:]*)(?::(\d*))?/.exec(String(value)); this.hostname = name; if (port !== undefined) this.port = port; }
  get pathname() { return this.#parts.pathname; } set pathname(value) { this.#parts.pathname = normalized(encoded(String(value).replace(/^\/?/, "/"), inPath)); }
  get search() { return this.#parts.search; }
  set search(value) {
    const text = String(value).replace(/^\?/, "");
    this.#parts.search = text ? "?" + encoded(text, inQuery) : "";
    this.#params = undefined;
  }
  get hash() { return this.#parts.hash; }
  set hash(value) { const text = String(value).replace(/^#/, ""); this.#parts.hash = text ? "#" + encoded(text, inHash) : ""; }
  get searchParams() { return this.#params ??= new URLSearchParams(this.search, text => { this.#parts.search = text ? "?" + text : ""; }); }
  get origin() { return Object.hasOwn(ports, this.protocol) ? `${this.protocol}//${this.host}` : "null"; }
  get href() {
    const user = this.username || this.password ? this.username + (this.password ? ":" + this.password : "") + "@" : "";
    return `${this.protocol}${this.#parts.isOpaque ? "" : "//" + user + this.host}${this.pathname}${this.search}${this.hash}`;
  }
  set href(value) { this.#set(parsed(value)); }
  toString() { return this.href; }
  toJSON() { return this.href; }
  get [Symbol.toStringTag]() { return "URL"; }
}

function parse(text, parsesQuery = false) {
  if (text instanceof Url) return text;
  const [, protocol = null, slashes, authority = "", pathname = null, search = null, hash = null] =
    /^(?:([a-z][a-z0-9+.-]*:))?(?:(\/\/)([^/?#]*))?([^?#]*)?(\?[^#]*)?(#[^]*)?$/i.exec(String(text).trim());
  const at = authority.lastIndexOf("@"), host = authority.slice(at + 1).toLowerCase(),
    [, name, port] = /^(\[[^\]]*\]|[^:]*)(?::(\d*))?$/.exec(host) ?? [null, host];
  const path = (pathname || (slashes && isSpecial(protocol?.toLowerCase() ?? "") ? "/" : "")) || null;
  return Object.assign(new Url(), {
    protocol: protocol?.toLowerCase() ?? null, slashes: slashes ? true : null, auth: at < 0 ? null : decodeURIComponent(authority.slice(0, at)),
    host: slashes ? host : null, port: port || null, hostname: slashes ? name : null, hash, search,
    query: parsesQuery ? require("querystring").parse((search ?? "").slice(1)) : search === null ? null : search.slice(1),
    pathname: path, path: path === null && search === null ? null : (path ?? "") + (search ?? ""), href: format({
      protocol: protocol?.toLowerCase(), slashes: slashes !== undefined, auth: at < 0 ? null : decodeURIComponent(authority.slice(0, at)), host,
      pathname: path, search, hash }),
  });
}
function format(url) {
  if (typeof url === "string") return parse(url).href;
  if (url instanceof URL) return url.href;
  const protocol = url.protocol ? url.protocol.replace(/:?$/, ":") : "";
  const host = url.host ?? (url.hostname ? (url.hostname.includes(":") && !url.hostname.startsWith("[") ? `[${url.hostname}]` : url.hostname) + (url.port ? ":" + url.port : "") : "");
  const auth = url.auth ? encodeURIComponent(url.auth).replace(/%3A/i, ":") + "@" : "";
  const query = url.query && typeof url.query === "object" ? require("querystring").stringify(url.query) : "";
  const search = url.search ?? (query ? "?" + query : ""), hash = url.hash ?? "";
  const slashes = url.slashes || host && isSpecial(protocol) ? "//" : "";
  const pathname = url.pathname ?? "";
  return protocol + slashes + auth + host + (slashes && host && pathname && !pathname.startsWith("/") ? "/" : "") + pathname
    + (search && !search.startsWith("?") ? "?" : "") + search + (hash && !hash.startsWith("#") ? "#" : "") + hash;
}
class Url { format() { return format(this); } resolve(to) { return resolve(this.href, to); } }
function resolve(from, to) {
  if (/^[a-z][a-z0-9+.-]*:/i.test(from)) return new URL(to, from).href;
  const { pathname, search, hash } = new URL(to, new URL(from, "http://relative"));
  return /^[a-z][a-z0-9+.-]*:/i.test(to) ? new URL(to).href : (from.startsWith("/") ? pathname : pathname.slice(1)) + search + hash;
}
const urlToHttpOptions = url => ({
  protocol: url.protocol, hostname: url.hostname.replace(/^\[|\]$/g, ""), hash: url.hash, search: url.search, pathname: url.pathname,
  path: url.pathname + url.search, href: url.href,
  ...(url.port ? { port: Number(url.port) } : {}), ...(url.username || url.password ? { auth: `${decodeURIComponent(url.username)}:${decodeURIComponent(url.password)}` } : {}),
});
module.exports = { URL, URLSearchParams, Url, parse, format, resolve, urlToHttpOptions, resolveObject: (from, to) => parse(resolve(from, to)),
  domainToASCII: name => name, domainToUnicode: name => name };

// The argument of `context.http`: a URL, or a document with the URL or its parts, in which texts and lists of texts mean the same.
const listed = value => Array.isArray(value) ? value : [value];
const isText = body => typeof body === "string" || ArrayBuffer.isView(body) || body instanceof ArrayBuffer || body instanceof bson().type("Binary");
function urlOf({ scheme = "http", host, path = "", query, fragment }) {
  if (typeof host !== "string") return undefined;
  const pairs = Object.entries(query ?? {}).flatMap(([name, values]) =>
    listed(values).map(value => `${encodeURIComponent(name)}=${encodeURIComponent(value)}`));
  return `${scheme}://${host}${path === "" || path.startsWith("/") ? path : "/" + path}`
    + (pairs.length ? "?" + pairs.join("&") : "") + (fragment === undefined ? "" : "#" + fragment);
}
function headersOf(given, cookies) {
  const headers = {}, pairs = typeof cookies === "string" ? [cookies] : Object.entries(cookies ?? {}).map(([name, value]) => `${name}=${value}`);
  for (const [name, values] of Object.entries(given ?? {})) {
    const texts = listed(values).filter(value => value !== undefined && value !== null).map(String);
    if (pairs.length && name.toLowerCase() === "cookie") pairs.unshift(...texts); else headers[name] = texts;
  }
  if (pairs.length) headers.Cookie = [pairs.join("; ")];
  return headers;
}
// The fields of a form: `form` itself or, if it is true, the body.
function formOf(form, body) {
  if (form === undefined || form === null || form === false) return undefined;
  const fields = form === true ? body : form;
  if (typeof fields !== "object" || fields === null || Array.isArray(fields) || isText(fields)) {
    throw new TypeError(form === true ? "context.http: form: true needs an object as body" : "context.http: form must be a document or true");
  }
  if (form !== true && body !== undefined && body !== null) throw new TypeError("context.http: form and body can't be used together");
  const text = (name, value) => {
    if (typeof value === "object" && value !== null && !isText(value)) {
      if (value._bsontype === undefined && !(value instanceof Date)) {
        throw new TypeError(`context.http: the form's ${name} must be a text, a number or bytes, or a list of these`);
      }
      return value instanceof Date ? value.toISOString() : String(value);
    }
    return isText(value) ? value : value === null ? "" : String(value);
  };
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined)
    .map(([name, value]) => [name, Array.isArray(value) ? value.map(element => text(name, element)) : text(name, value)]));
}
function httpRequest(given) {
  if (typeof given === "string") return { url: given };
  const { scheme, host, path, query, fragment, url, cookies, form: givenForm, username, password, body: givenBody, headers: givenHeaders, ...request } = given ?? {};
  const headers = headersOf(givenHeaders, cookies), form = formOf(givenForm, givenBody), body = form || givenBody === null ? undefined : givenBody;
  if (username !== undefined && !request.digestAuth) {
    headers.Authorization = ["Basic " + octets().toBase64(octets().toUTF8(`${username}:${password ?? ""}`))];
  }
  return {
    ...request, headers, url: url ?? urlOf({ scheme, host, path, query, fragment }), form, body: body instanceof ArrayBuffer ? new Uint8Array(body) : body,
    encodeBodyAsJSON: body !== undefined && !isText(body) || undefined, ...(request.digestAuth ? { username, password } : {}),
  };
}
return { httpRequest };

// The argument of `context.http`: a URL, or a document with the URL or its parts, in which texts and lists of texts mean the same.
const listed = value => Array.isArray(value) ? value : [value];
function urlOf({ scheme = "http", host, path = "", query, fragment }) {
  if (typeof host !== "string") return undefined;
  const pairs = Object.entries(query ?? {}).flatMap(([name, values]) =>
    listed(values).map(value => `${encodeURIComponent(name)}=${encodeURIComponent(value)}`));
  return `${scheme}://${host}${path === "" || path.startsWith("/") ? path : "/" + path}`
    + (pairs.length ? "?" + pairs.join("&") : "") + (fragment === undefined ? "" : "#" + fragment);
}
function httpRequest(given) {
  if (typeof given === "string") return { url: given };
  const { scheme, host, path, query, fragment, url, cookies, form, username, password, ...request } = given ?? {};
  if (form !== undefined) throw new Error("context.http: form is not supported: send the encoded text as body");
  const headers = { ...request.headers };
  const pairs = Object.entries(cookies ?? {}).map(([name, value]) => `${name}=${value}`);
  if (pairs.length) headers.Cookie = [pairs.join("; ")];
  if (username !== undefined && !request.digestAuth) {
    headers.Authorization = ["Basic " + octets().toBase64(octets().toUTF8(`${username}:${password ?? ""}`))];
  }
  const isObject = typeof request.body === "object" && request.body !== null && !ArrayBuffer.isView(request.body)
    && !(request.body instanceof bson().types.Binary());
  return {
    ...request, headers, url: url ?? urlOf({ scheme, host, path, query, fragment }),
    encodeBodyAsJSON: isObject || undefined, ...(request.digestAuth ? { username, password } : {}),
  };
}
return { httpRequest };

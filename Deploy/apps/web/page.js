// What the pages of the example apps share: elements, and signing in.
import { App } from "./partita.js";

// h("li", {class: "x", onclick: f}, "text", element, [more, …], …): text is only ever text, never markup.
export function h(name, attributes = {}, ...content) {
  const element = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) {
    if (key.startsWith("on")) element.addEventListener(key.slice(2), value);
    else if (value !== undefined && value !== false) element.setAttribute(key, value === true ? "" : value);
  }
  return fill(element, content);
}
// One after the other: a list may be longer than a call can have arguments.
function fill(element, content) {
  for (const part of content.flat()) if (part !== null && part !== undefined) element.append(part);
  return element;
}
export const $ = (id) => document.getElementById(id);
// While somebody chooses in a list or types into it, it stays as it is: what came last is shown afterwards.
export const show = (id, ...content) => {
  const place = $(id), used = document.activeElement;
  if (!place.contains(used) || !used.matches("select, input:not([type=checkbox])")) return draw(place, content);
  if (!place.later) used.addEventListener("blur", () => setTimeout(() => {
    const { later } = place;
    place.later = undefined;
    draw(place, later);
  }), { once: true });
  place.later = content;
};
document.addEventListener("change", ({ target }) => target.matches("select") && target.blur());
const draw = (place, content) => {
  place.replaceChildren();
  fill(place, content);
};
// What a page says of a partition.
export const stateOf = ({ isConnected, revoked, waiting }, whenRevoked) =>
  `${revoked ? whenRevoked : isConnected ? "live" : "connecting …"}${waiting && !isConnected ? ` (${waiting} not sent yet)` : ""}`;
// Nothing for what isn't a date, or is one that no calendar has: a document may have any.
export const time = (value) => (value instanceof Date && !isNaN(value) ? value.toISOString().slice(0, 16).replace("T", " ") : "");
// Orders by a date that may be missing or anything else, which comes first.
export const byTime = (field) => (one, other) => (Number(one[field]) || 0) - (Number(other[field]) || 0);

// What the server has rejected, until the next write.
let isRejectionShown = false;
export function showRejection({ rejected }) {
  if (rejected || isRejectionShown) show("problem", rejected?.message);
  isRejectionShown = Boolean(rejected);
}

// Runs what an event does, once at a time, and shows why it failed.
export const attempt = (work) => {
  let isRunning = false;
  return async (event) => {
    event?.preventDefault?.();
    if (isRunning) return;
    isRunning = true;
    show("problem");
    try {
      await work(event);
    } catch (error) {
      show("problem", error.message);
    } finally {
      isRunning = false;
    }
  };
};

// The server is ?server=…, by default port 8085 of the page's own host. Another host is refused: who follows a link to this page would give
// it their password.
function serverAddress(parameters) {
  const server = parameters.get("server") ?? `http://${location.hostname}:8085`;
  const { protocol, hostname, origin } = new URL(server);
  if (!/^https?:$/.test(protocol) || hostname !== location.hostname) throw new Error(`the server has to be on ${location.hostname}, as this page is`);
  // Without a path, which may lead to a function of another app.
  return origin;
}

// Fills the header, and calls `begin` with the session. ?app=… is the id of the app, if it was deployed under another one. When the session
// ends the page is loaded again, so that nothing of it is left.
export function signInPage(appId, begin) {
  const parameters = new URLSearchParams(location.search);
  let app;
  try {
    app = new App(serverAddress(parameters), parameters.get("app") ?? appId);
  } catch (error) {
    return show("problem", error.message);
  }
  show("problem", sessionStorage.getItem("end") ?? "");
  sessionStorage.removeItem("end");
  const email = h("input", { name: "email", type: "email", placeholder: "e-mail", required: true });
  const password = h("input", { name: "password", type: "password", placeholder: "password", required: true });
  const reload = (text) => {
    sessionStorage.setItem("end", text);
    location.reload();
  };
  const enter = async () => {
    const session = await app.signIn(email.value, password.value);
    session.onEnd = (reason) => reload(`You are signed out: ${reason}`);
    const leave = () => session.signOut().finally(() => location.reload());
    try {
      await begin(session);
    } catch (error) {
      // What it listens to already would do its work twice after the next sign-in.
      return session.signOut().finally(() => reload(error.message));
    }
    form.replaceWith(h("span", { id: "who" }, email.value), " ", h("button", { class: "quiet", id: "sign-out", onclick: attempt(leave) }, "Sign out"));
    $("page").hidden = false;
  };
  let isNew = false;
  const form = h("form", { id: "sign-in", onsubmit: attempt(async () => {
    if (isNew) await app.register(email.value, password.value);
    await enter();
  }) }, email, password, h("button", { onclick: () => (isNew = false) }, "Sign in"),
    h("button", { class: "quiet", onclick: () => (isNew = true) }, "Register"));
  document.querySelector("header").append(form);
}

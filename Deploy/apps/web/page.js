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
export const show = (id, ...content) => {
  $(id).replaceChildren();
  fill($(id), content);
};
// Nothing for what isn't a date, or is one that no calendar has: a document may have any.
export const time = (value) => (value instanceof Date && !isNaN(value) ? value.toISOString().slice(0, 16).replace("T", " ") : "");
// Orders by a date that may be missing or anything else, which comes first.
export const byTime = (field) => (one, other) => (Number(one[field]) || 0) - (Number(other[field]) || 0);

// Runs what an event does, and shows why it failed.
export const attempt = (work) => async (event) => {
  event?.preventDefault?.();
  show("problem");
  try {
    await work(event);
  } catch (error) {
    show("problem", error.message);
  }
};

// The server is ?server=…, by default port 8085 of the page's own host. Another host is refused: who follows a link to this page would give
// it their password.
function serverAddress(parameters) {
  const server = parameters.get("server") ?? `http://${location.hostname}:8085`;
  const isOwn = /^https?:$/.test(new URL(server).protocol) && new URL(server).hostname === location.hostname;
  if (!isOwn) throw new Error(`the server has to be on ${location.hostname}, as this page is`);
  return server;
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
  const enter = async () => {
    const session = await app.signIn(email.value, password.value);
    session.onEnd = (reason) => {
      sessionStorage.setItem("end", `You are signed out: ${reason}`);
      location.reload();
    };
    const leave = () => session.signOut().finally(() => location.reload());
    form.replaceWith(h("span", { id: "who" }, email.value), " ", h("button", { class: "quiet", id: "sign-out", onclick: attempt(leave) }, "Sign out"));
    $("page").hidden = false;
    await begin(session);
  };
  const form = h("form", { id: "sign-in", onsubmit: attempt(enter) }, email, password, h("button", {}, "Sign in"),
    h("button", { type: "button", class: "quiet", onclick: attempt(() => app.register(email.value, password.value).then(enter)) }, "Register"));
  document.querySelector("header").append(form);
}

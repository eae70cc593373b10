// What the pages of the example apps share: elements, and signing in.
import { App } from "./partita.js";

// h("li", {class: "x", onclick: f}, "text", element, …): text is only ever text, never markup.
export function h(name, attributes = {}, ...content) {
  const element = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) {
    if (key.startsWith("on")) element.addEventListener(key.slice(2), value);
    else if (value !== undefined && value !== false) element.setAttribute(key, value === true ? "" : value);
  }
  element.append(...content.filter((part) => part !== null && part !== undefined));
  return element;
}
export const $ = (id) => document.getElementById(id);
export const show = (id, ...content) => $(id).replaceChildren(...content);
export const time = (value) => value?.toISOString().slice(0, 16).replace("T", " ") ?? "";

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

// Fills the header, and calls `begin` with the session. The server is ?server=…, by default port 8085 of the page's own host; ?app=… is
// the id of the app, if it was deployed under another one.
export function signInPage(appId, begin) {
  const parameters = new URLSearchParams(location.search);
  const app = new App(parameters.get("server") ?? `http://${location.hostname}:8085`, parameters.get("app") ?? appId);
  const email = h("input", { name: "email", type: "email", placeholder: "e-mail", required: true });
  const password = h("input", { name: "password", type: "password", placeholder: "password", required: true });
  const enter = async () => {
    const session = await app.signIn(email.value, password.value);
    form.replaceWith(h("span", { id: "who" }, email.value));
    $("page").hidden = false;
    await begin(session);
  };
  const form = h("form", { id: "sign-in", onsubmit: attempt(enter) }, email, password, h("button", {}, "Sign in"),
    h("button", { type: "button", class: "quiet", onclick: attempt(() => app.register(email.value, password.value).then(enter)) }, "Register"));
  document.querySelector("header").append(form);
}

import { objectId } from "../../web/partita.js";
import { $, attempt, h, show, showRejection, signInPage, stateOf } from "../../web/page.js";

let session, account, jobs, workers, teams, role = null, team = null, again;
// The part of the world that the map shows.
const view = { west: 13.2, east: 13.6, south: 52.4, north: 52.6 };

signInPage("teamwork", (signedIn) => {
  session = signedIn;
  // The own role is live, too: what the page shows changes with it.
  account = session.open(`user=${session.userId}`, () => {
    const me = account.find("User")[0];
    if (me && (me.role !== role || me.team !== team)) begin(me);
  });
  $("plan").addEventListener("submit", (event) => {
    event.preventDefault();
    const form = event.target;
    jobs.insert("Job", {
      _id: objectId(), partition: "master", title: form.elements.title.value, status: "new", checklist: [], done: [], notes: [],
      ...(form.team.value ? { team: form.team.value } : {}),
    });
    form.reset();
  });
});

function begin(me) {
  for (const partition of [jobs, workers, teams]) if (partition) session.close(partition);
  jobs = workers = teams = undefined;
  ({ role, team = null } = me);
  const isManager = role === "manager";
  $("managers").hidden = $("plan").hidden = !isManager;
  show("list", isManager ? "All jobs" : role === "worker" ? `Jobs of ${team}` : "You have no role yet");
  show("jobs");
  show("state");
  if (role !== "none") {
    jobs = session.open(isManager ? "master" : `team=${team}`, (changed) => changed === jobs && showJobs());
    teams = session.open("teams", (changed) => changed === teams && showTeams());
  }
  if (isManager) workers = session.open("managers", (changed) => changed === workers && showWorkers());
}

const names = () => teams?.find("Team") ?? [];
const options = (chosen) => [h("option", { value: "", selected: !chosen }, "no team"),
  ...names().map((each) => h("option", { value: each._id, selected: each._id === chosen }, each.name))];

function showTeams() {
  $("plan").team.replaceChildren(...options());
  showJobs();
  if (workers) showWorkers();
}

function showJobs() {
  if (!jobs) return;
  const { revoked } = jobs.state;
  show("state", stateOf(jobs.state, "You may not read these jobs any more."));
  // The own document may say so before the right to the team's partition is decided anew: nothing reports that later.
  if (revoked) {
    clearTimeout(again);
    again = setTimeout(() => {
      const me = account.find("User")[0];
      if (me && jobs?.state.revoked) begin(me);
    }, 1000);
  }
  showRejection(jobs.state);
  const isManager = role === "manager";
  const collection = isManager ? "Job" : "TeamJob";
  show("jobs", jobs.find(collection).map((job) => {
    const change = (update) => jobs.update(collection, job._id, update);
    const status = { new: "", begun: "amber", done: "green" }[job.status] ?? "";
    const steps = (job.checklist ?? []).slice(0, 100).map((step) => {
      const isDone = (job.done ?? []).includes(step);
      return h("div", {}, h("label", {},
        h("input", { type: "checkbox", checked: isDone, disabled: isManager, onchange: () => change({ [isDone ? "$pull" : "$addToSet"]: { done: step } }) }), ` ${step}`));
    });
    return h("li", { "data-job": job._id.$oid }, h("span", { class: `dot ${status}` }), " ", h("b", {}, job.title),
      h("span", { class: "faint" }, ` ${job.address ?? ""} · ${job.status ?? ""}${job.worker ? ` by ${job.worker}` : ""}`), steps,
      (job.notes ?? []).slice(-20).map((note) => h("div", { class: "faint" }, `${note.author ?? ""}: ${note.text}`)),
      isManager
        ? h("select", { onchange: (event) => change(event.target.value ? { $set: { team: event.target.value } } : { $unset: { team: "" } }) }, options(job.team))
        : h("span", {}, ["begun", "done"].filter((next) => next !== job.status).map((next) =>
            h("button", { class: "quiet", onclick: () => change({ $set: { status: next, worker: account.find("User")[0].email } }) }, next))));
  }));
}

function showWorkers() {
  const everybody = workers.find("Worker");
  const svg = (name, attributes, text) => {
    const element = document.createElementNS("http://www.w3.org/2000/svg", name);
    for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, value);
    if (text) element.textContent = text;
    return element;
  };
  show("map", everybody.filter((worker) => worker.location).flatMap((worker) => {
    const x = (360 * (worker.location.longitude - view.west)) / (view.east - view.west);
    const y = (240 * (view.north - worker.location.latitude)) / (view.north - view.south);
    return [svg("circle", { cx: x, cy: y, r: 5, fill: "#1f6fb2", "data-worker": worker._id }), svg("text", { x: x + 8, y: y + 3 }, worker.email.split("@")[0])];
  }));
  show("workers", everybody.map((worker) => {
    const set = attempt((event) => {
      const [chosen, of] = event.target.value.split(" ");
      return session.call("setRole", { email: worker.email, role: chosen, ...(of ? { team: of } : {}) });
    });
    const current = worker.team ? `worker ${worker.team}` : worker.role;
    const choices = ["manager", "none", ...names().map((each) => `worker ${each._id}`)];
    return h("li", { "data-user": worker._id }, `${worker.email} `,
      worker._id === session.userId ? h("span", { class: "faint" }, worker.role)
        : h("select", { onchange: set }, choices.map((choice) => h("option", { value: choice, selected: choice === current }, choice))));
  }));
}

import { $, attempt, byTime, h, show, signInPage, stateOf, time } from "../../web/page.js";

let session, partition, refresh;

signInPage("ofish", async (signedIn) => {
  session = signedIn;
  const profile = await session.call("profile");
  show("agency", profile.readable.map((name) => h("option", { selected: name === profile.agency }, name)));
  $("agency").addEventListener("change", open);
  $("search").addEventListener("submit", attempt(search));
  open();
});

function open() {
  if (partition) session.close(partition);
  partition = session.open($("agency").value, (changed) => {
    if (changed !== partition) return;
    showReports();
    // The figures come from a function: asked again when the reports have changed, but not for each.
    clearTimeout(refresh);
    refresh = setTimeout(attempt(showFigures), 300);
  });
}

function showReports() {
  const { access, revoked } = partition.state;
  show("state", stateOf(partition.state, `You may not read this agency: ${revoked}`), access ? `, ${access}` : "");
  const photos = partition.find("Photo");
  const reports = partition.find("BoardingReports").sort(byTime("timestamp")).reverse();
  show("reports", reports.slice(0, 50).map((report) => row(report, photos.filter((photo) => photo.referencingReportID?.$oid === report._id.$oid))));
}

function row(report, photos) {
  const violations = report.inspection?.violations ?? [];
  return h("li", { "data-id": report._id.$oid },
    h("span", { class: `dot ${report.risk?.level ?? ""}` }), " ", h("b", {}, report.vessel?.name ?? "?"), " ",
    h("span", { class: "faint" }, `${time(report.timestamp)} · ${report.captain?.name ?? "?"}`),
    photos.flatMap((photo) => [" ", picture(photo)]), h("br"),
    violations.map((violation) => `${violation.offence ?? "?"} (${violation.disposition ?? "?"})`).join(", ") || "no violation");
}

function picture(photo) {
  const small = photo.thumbnail ?? photo.picture;
  const image = small ? h("img", { class: "photo", src: `data:image;base64,${small.$binary.base64}`, alt: "photo" }) : "…";
  if (!photo.pictureURL) return h("span", {}, image);
  return h("a", { href: "#", onclick: attempt(async () => window.open(await session.link(photo.pictureURL), "_blank", "noopener")) }, image);
}

async function search(event) {
  const { total, reports, facets } = await session.call("searchReports", { query: event.target.query.value });
  const counts = Object.values(facets).flat().map(({ value, count }) => `${value}: ${count}`);
  show("facets", `${total} found`, counts.length ? ` — ${counts.join(", ")}` : "");
  show("found", reports.map((report) =>
    h("li", {}, h("span", { class: `dot ${report.risk?.level ?? ""}` }), " ", h("b", {}, report.vessel?.name ?? "?"), ` ${report.agency}`,
      ...report.highlights.map(({ texts }) => h("div", { class: "faint" }, ...texts.map(({ value, type }) => (type === "hit" ? h("mark", {}, value) : value)))))));
}

async function showFigures() {
  const figures = await session.call("dashboard", { agency: $("agency").value });
  show("totals", `${figures.boardings} boardings, ${figures.withViolations} of them with violations`);
  const most = Math.max(1, ...figures.months.map((month) => month.boardings));
  show("months", figures.months.map((month) =>
    h("li", {}, `${month._id} `, h("span", { class: "bar", style: `width: ${(12 * month.boardings) / most}rem` }), ` ${month.boardings}`)));
  show("offences", figures.offences.map((offence) => h("li", {}, `${offence._id ?? "?"}: ${offence.count}`)));
  show("duty", figures.onDuty.map((officer) => h("li", {}, officer)));
}

import { date, double, objectId } from "../../web/partita.js";
import { $, attempt, h, show, showRejection, signInPage, stateOf } from "../../web/page.js";

let session, account, devices, map;
// The part of the world that the map shows.
const view = { west: 13.2, east: 13.6, south: 52.4, north: 52.6 };

signInPage("findourdevices", (signedIn) => {
  session = signedIn;
  account = session.open(`user=${session.userId}`, showAccount);
  devices = session.open(`device=${session.userId}`, showDevices);
  on("create", async (form) => {
    const id = objectId().$oid;
    await session.call("createGroup", { id, name: form.name.value });
    openMap(id);
  });
  on("invite", (form) => session.call("invite", { group: currentGroup(), email: form.email.value }));
  on("add", (form) => devices.insert("Device", { _id: objectId(), partition: devices.value, name: form.name.value, location: place(13.4, 52.5) }));
});

const on = (id, work) => $(id).addEventListener("submit", attempt(async (event) => {
  await work(event.target);
  event.target.reset();
}));
const button = (text, work) => h("button", { class: "quiet", onclick: attempt(work) }, text);
const currentGroup = () => map?.value.slice("group=".length);
const place = (longitude, latitude) => ({ longitude: double(longitude), latitude: double(latitude), at: date(Date.now()) });

function showAccount() {
  const me = account.find("User")[0] ?? { groups: [], invitations: [] };
  const answer = (group, isAccepted) => () => session.call("answerInvitation", { group, isAccepted });
  show("invitations", me.invitations.map((invitation) =>
    h("li", {}, `${invitation.name}, from ${invitation.from} `, button("Join", answer(invitation.group, true)), " ", button("Decline", answer(invitation.group, false)))));
  $("invite").hidden = me.groups.length === 0;
  show("groups", me.groups.map((group) => h("li", {}, button(group.name, () => openMap(group.id)))));
  if (!me.groups.some((group) => group.id === currentGroup()) && me.groups.length > 0) openMap(me.groups[0].id);
}

function openMap(group) {
  if (map) session.close(map);
  map = session.open(`group=${group}`, (changed) => changed === map && showMap());
}

function showMap() {
  show("state", stateOf(map.state, "You are not in this group any more."));
  const group = map.find("Group")[0];
  const members = map.find("Member").sort((one, other) => one.name.localeCompare(other.name));
  show("group", group?.name ?? "…");
  show("members", members.map((member) => memberRow(member, group)));
  const svg = (name, attributes, text) => {
    const element = document.createElementNS("http://www.w3.org/2000/svg", name);
    for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, value);
    if (text) element.textContent = text;
    return element;
  };
  show("map", members.flatMap((member) => Object.entries(member.devices).filter(([, device]) => device.location).flatMap(([id, device]) => {
    const x = (360 * (device.location.longitude - view.west)) / (view.east - view.west);
    const y = (240 * (view.north - device.location.latitude)) / (view.north - view.south);
    const color = member.userID === session.userId ? "#1f6fb2" : "#d0342c";
    return [svg("circle", { cx: x, cy: y, r: 5, fill: color, "data-device": id }), svg("text", { x: x + 8, y: y + 3 }, `${device.name}`)];
  })));
}

function memberRow(member, group) {
  const isMine = member.userID === session.userId;
  const change = { group: currentGroup() };
  const buttons = [];
  if (isMine) buttons.push(button(member.isSharing ? "Stop sharing" : "Share", () => session.call("setSharing", { ...change, isSharing: !member.isSharing })));
  if (group && group.owner !== member.userID && (isMine || group.owner === session.userId)) {
    buttons.push(button(isMine ? "Leave" : "Remove", () => session.call("removeMember", { ...change, user: member.userID })));
  }
  return h("li", { "data-user": member.userID }, member.name, member.isSharing ? " " : h("span", { class: "faint" }, " doesn't share "), buttons);
}

function showDevices() {
  showRejection(devices.state);
  show("devices", devices.find("Device").map((device) => {
    const { longitude = 13.4, latitude = 52.5 } = device.location ?? {};
    const move = (east, north) => button({ "0.01,0": "→", "-0.01,0": "←", "0,0.01": "↑", "0,-0.01": "↓" }[`${east},${north}`], () =>
      devices.update("Device", device._id, { $set: { location: place(longitude + east, latitude + north) } }));
    return h("li", { "data-device": device._id.$oid }, `${device.name} at ${longitude.toFixed(2)}, ${latitude.toFixed(2)} `,
      move(-0.01, 0), move(0.01, 0), move(0, 0.01), move(0, -0.01), button("Forget", () => devices.delete("Device", device._id)));
  }));
}

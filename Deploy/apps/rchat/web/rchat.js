import { date, uuid } from "../../web/partita.js";
import { $, byTime, h, show, showRejection, signInPage, stateOf, time } from "../../web/page.js";

let session, account, people, talk, read;

signInPage("rchat", (signedIn) => {
  session = signedIn;
  account = session.open(`user=${session.userId}`, showConversations);
  people = session.open("all-users=all-the-users", showPeople);
  $("send").addEventListener("submit", (event) => {
    event.preventDefault();
    talk.insert("ChatMessage", {
      _id: uuid(), partition: talk.value, text: event.target.text.value, author: me().userName, timestamp: date(Date.now()),
    });
    event.target.reset();
  });
});

const me = () => account.find("User")[0];
const member = (userName) => ({ userName, membershipStatus: "User added, but invite pending" });

function showConversations() {
  const list = me()?.conversations ?? [];
  const open = list.find((each) => `conversation=${each.id}` === talk?.value);
  const unread = open?.unreadCount > 0 ? `${open.id} ${open.unreadCount}` : null;
  if (unread && unread !== read) {
    account.update("User", session.userId, { $set: { "conversations.$[open].unreadCount": { $numberLong: "0" } } }, [{ "open.id": open.id }]);
  }
  // Once for each count: the server's answer is on its way.
  read = unread;
  show("conversations", list.map((each) =>
    h("li", {}, h("button", { class: "quiet", onclick: () => openTalk(each) }, each.displayName || each.id), h("span", { class: "faint" }, each.unreadCount ? ` ${each.unreadCount} unread` : ""))));
}

function showPeople() {
  const others = people.find("Chatster").filter((chatster) => chatster._id !== session.userId);
  others.sort((one, other) => one.userName.localeCompare(other.userName));
  show("people", others.map((chatster) => h("li", { "data-user": chatster.userName },
    h("span", { class: `dot ${chatster.presence === "On-Line" ? "green" : ""}` }), ` ${chatster.displayName ? `${chatster.displayName} (${chatster.userName})` : chatster.userName} `,
    h("button", { class: "quiet", onclick: () => begin(chatster.userName) }, "Talk"))));
}

// In the own User document: a trigger invites the other.
function begin(other) {
  const conversation = {
    id: uuid(), displayName: `${me().userName} and ${other}`, unreadCount: { $numberLong: "0" },
    members: [member(me().userName), member(other)],
  };
  account.update("User", session.userId, { $push: { conversations: conversation } });
}

function openTalk({ id, displayName }) {
  if (talk) session.close(talk);
  talk = session.open(`conversation=${id}`, (changed) => changed === talk && showTalk());
  show("title", displayName || id);
  $("send").hidden = false;
  showConversations();
}

function showTalk() {
  show("state", stateOf(talk.state, "You are not in this conversation any more."));
  showRejection(talk.state);
  const messages = talk.find("ChatMessage").sort(byTime("timestamp"));
  show("messages", messages.map((message) => h("li", {}, h("b", {}, message.author ?? "?"), " ",
    h("span", { class: "faint" }, time(message.timestamp)), h("br"), message.text,
    message.image?.thumbNail ? h("img", { class: "photo", alt: "photo", src: `data:image;base64,${message.image.thumbNail.$binary.base64}` }) : null)));
}

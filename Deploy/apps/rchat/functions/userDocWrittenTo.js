// A User document changed: updates its public mirror (Chatster), and the other members of its conversations.
//
// A user who changes the members of a conversation changes their own copy. If they are a member, this function applies the difference to
// the Conversation document, which says who is a member and which nobody else writes, and to the copies of the others. Those writes come
// back here as events of the other users. This doesn't loop, because each write filters on the difference that it removes (a filter that
// doesn't match writes nothing and causes no event), and the difference is checked against the current document, not only against
// the event, which may be old.
exports = async function (event) {
  const db = context.services.get("mongodb-atlas").db("RChat");
  const users = db.collection("User");
  const chatsters = db.collection("Chatster");
  const conversations = db.collection("Conversation");
  const userId = event.documentKey._id;
  const before = event.fullDocumentBeforeChange;
  const after = event.fullDocument;

  // A device may write any document into the partition of its user. Only the user's own User document is an account: without this
  // check, a document with another user's name would get that user's invitations.
  const written = after ?? before;
  if (written && written.partition !== `user=${userId}`) {
    if (after) {
      await users.deleteOne({ _id: userId, partition: after.partition });
    }
    return;
  }

  const everyone = "all-users=all-the-users";
  const chatster = await chatsters.findOne({ _id: userId, partition: everyone });
  const userName = chatster?.userName ?? after?.userName ?? before?.userName;

  // A user who deletes their document leaves all conversations, but keeps their name: the Chatster goes with the account.
  if (after) {
    await mirror(after);
  }

  const changes = membershipChanges(before?.conversations ?? [], after?.conversations ?? []);
  if (changes.length === 0) {
    return;
  }
  const current = await users.findOne({ _id: userId });
  const present = new Map((current?.conversations ?? []).map((conversation) => [conversation.id, conversation]));
  // One look-up for all: the events of all users wait for this one.
  const named = new Set();
  for (const change of changes) {
    change.removed.forEach((name) => named.add(name));
    present.get(change.id)?.members?.forEach((member) => named.add(member.userName));
  }
  const ids = await idsOf([...named]);
  for (const change of changes) {
    const conversation = present.get(change.id);
    if (conversation) {
      await carryOn(change, conversation);
    } else if (change.left) {
      await leave(change.id);
    }
  }

  // The name belongs to the account: if a user writes another name into their document, the old one is restored. Otherwise they
  // could impersonate another user.
  async function mirror(user) {
    const face = publicFace(user);
    if (!chatster) {
      return;  // the account is just being created, or was deleted
    }
    if (user.userName !== chatster.userName) {
      await users.updateOne({ _id: userId }, { $set: { userName: chatster.userName } });
    }
    const old = before ? publicFace(before) : {};
    const written = Object.entries(face).filter(([field, value]) => !same(value, old[field]));
    const removed = Object.keys(old).filter((field) => !(field in face));
    const update = {};
    if (written.length > 0) update.$set = Object.fromEntries(written);
    if (removed.length > 0) update.$unset = Object.fromEntries(removed.map((field) => [field, ""]));
    if (Object.keys(update).length > 0) {
      await chatsters.updateOne({ _id: userId }, update);
    }
  }

  // Members were added to a conversation, or removed from it, in this user's copy.
  async function carryOn(change, conversation) {
    const members = await membersOf(conversation);
    if (!members.includes(userName)) {
      await users.updateOne({ _id: userId }, { $pull: { conversations: { id: change.id } } });
      return;
    }
    const known = (names) => names.filter((name) => ids.has(name)).map((name) => ids.get(name));
    const isMember = (name) => (conversation.members ?? []).some((member) => member.userName === name);
    const added = change.added.filter((member) => isMember(member.userName));
    const removed = change.removed.filter((name) => !isMember(name));

    if (added.some((member) => !members.includes(member.userName))) {
      await conversations.updateOne(
        { _id: change.id }, { $addToSet: { members: { $each: added.map((member) => member.userName) } } });
    }
    const invited = known(added.map((member) => member.userName));
    if (invited.length > 0) {
      await users.updateMany(
        { _id: { $in: invited }, "conversations.id": { $ne: change.id } },
        {
          $push: {
            conversations: {
              id: change.id,
              displayName: conversation.displayName ?? "",
              unreadCount: 0,
              members: conversation.members,
            },
          },
        }
      );
    }
    if (removed.length > 0) {
      await conversations.updateOne({ _id: change.id, members: { $in: removed } }, { $pull: { members: { $in: removed } } });
      await users.updateMany(
        { _id: { $in: known(removed) }, "conversations.id": change.id },
        { $pull: { conversations: { id: change.id } } }
      );
    }

    const others = known((conversation.members ?? []).map((member) => member.userName).filter((name) => name !== userName));
    if (others.length === 0) return;
    for (const member of added) {
      await users.updateMany(
        {
          _id: { $in: others },
          conversations: { $elemMatch: { id: change.id, "members.userName": { $ne: member.userName } } },
        },
        { $push: { "conversations.$[conversation].members": member } },
        { arrayFilters: [{ "conversation.id": change.id }] }
      );
    }
    for (const name of removed) {
      await removeMember(change.id, name, { $in: others });
    }
  }

  // This user isn't in the conversation any more: they left, or another member removed them.
  async function leave(conversationId) {
    await conversations.updateOne({ _id: conversationId, members: userName }, { $pull: { members: userName } });
    await removeMember(conversationId, userName, { $ne: userId });
  }

  async function removeMember(conversationId, name, ids) {
    await users.updateMany(
      { _id: ids, conversations: { $elemMatch: { id: conversationId, "members.userName": name } } },
      { $pull: { "conversations.$[conversation].members": { userName: name } } },
      { arrayFilters: [{ "conversation.id": conversationId }] }
    );
  }

  // The names of a conversation's members. A user can't join a conversation by writing it into their own document, unless it is a new one: then its members are those that its
  // creator lists. Its Conversation document stays when all have left it, so that its id never counts as new again.
  async function membersOf({ id, members }) {
    const names = new Set([userName, ...(members ?? []).map((member) => member.userName)]);
    const known = await conversations.findOneAndUpdate(
      { _id: id }, { $setOnInsert: { members: [...names] } }, { upsert: true, returnNewDocument: true });
    return known.members;
  }

  // Only triggers write Chatsters for everyone, so a name leads to the account that has it. A device may write others into the
  // partition of its user.
  async function idsOf(names) {
    if (names.length === 0) return new Map();
    const found = await chatsters.find({ userName: { $in: names }, partition: everyone }).toArray();
    return new Map(found.map((found) => [found.userName, found._id]));
  }

  // What changed in the lists of members, conversation by conversation.
  function membershipChanges(oldList, newList) {
    const changes = [];
    const oldById = new Map(oldList.map((conversation) => [conversation.id, conversation]));
    const newIds = new Set(newList.map((conversation) => conversation.id));
    for (const conversation of newList) {
      const old = oldById.get(conversation.id);
      const oldNames = (old?.members ?? []).map((member) => member.userName);
      const newNames = (conversation.members ?? []).map((member) => member.userName);
      const added = (conversation.members ?? []).filter(
        (member) => member.userName !== userName && !oldNames.includes(member.userName)
      );
      const removed = oldNames.filter((name) => name !== userName && !newNames.includes(name));
      if (!old || added.length > 0 || removed.length > 0) {
        changes.push({ id: conversation.id, joined: !old, left: false, added, removed });
      }
    }
    for (const old of oldList) {
      if (!newIds.has(old.id)) {
        changes.push({ id: old.id, joined: false, left: true, added: [], removed: [] });
      }
    }
    return changes;
  }

  // What others see of a user. Of the photo only the thumbnail, since the link to the picture opens only for its owner.
  function publicFace(user) {
    const photo = user.userPreferences?.avatarImage;
    const face = {
      displayName: user.userPreferences?.displayName,
      avatarImage: photo ? { _id: photo._id, thumbNail: photo.thumbNail, date: photo.date } : undefined,
      lastSeenAt: user.lastSeenAt,
      presence: user.presence,
    };
    if (face.avatarImage) {
      face.avatarImage = withoutGaps(face.avatarImage);
    }
    return withoutGaps(face);
  }

  function withoutGaps(object) {
    return Object.fromEntries(Object.entries(object).filter(([, value]) => value !== undefined && value !== null));
  }

  function same(left, right) {
    return EJSON.stringify(left ?? null) === EJSON.stringify(right ?? null);
  }
};

// Is the user a member of a conversation?
//
// The user's own document must list it, so that leaving takes effect at once. That proves nothing, because users write their own documents;
// not even two accounts that list each other do, since both may belong to somebody who was removed. The Conversation documents, which
// nobody but the trigger writes, say who is a member. A conversation without one is new: its creator opens it before the trigger has
// seen it.
exports = async function (conversationId) {
  const db = context.services.get("mongodb-atlas").db("RChat");
  const me = context.user.id;
  const mine = await db.collection("User").findOne({ _id: me, partition: `user=${me}`, "conversations.id": conversationId });
  if (!mine) {
    return false;
  }
  const conversation = await db.collection("Conversation").findOne({ _id: conversationId });
  return !conversation || conversation.members.includes(context.user.data?.email ?? me);
};

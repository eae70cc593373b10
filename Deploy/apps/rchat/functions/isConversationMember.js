// Is the user a member of a conversation?
//
// The user's own document must list it. That alone isn't enough, because users write their own documents: a removed member could
// list the conversation again. So another account with the conversation must list the user as a member too, unless no other account
// has it (the user is its creator, and the invitations haven't gone out). Only a User document in its own partition is an account:
// a device may write any document into the partition of its user, even one that pretends to be another user's.
exports = async function (conversationId) {
  const users = context.services.get("mongodb-atlas").db("RChat").collection("User");
  const me = context.user.id;
  const userName = context.user.data?.email ?? me;
  const isAccount = { $expr: { $eq: ["$partition", { $concat: ["user=", "$_id"] }] } };

  const mine = await users.findOne({ _id: me, "conversations.id": conversationId, ...isAccount });
  if (!mine) {
    return false;
  }

  const witness = await users.findOne({
    _id: { $ne: me },
    conversations: { $elemMatch: { id: conversationId, "members.userName": userName } },
    ...isAccount,
  });
  if (witness) {
    return true;
  }

  const other = await users.findOne({ _id: { $ne: me }, "conversations.id": conversationId, ...isAccount });
  return !other;
};

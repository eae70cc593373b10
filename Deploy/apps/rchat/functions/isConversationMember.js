// Is the user a member of a conversation?
//
// Their own document must list it. That alone isn't enough, because users write their own documents: somebody who was removed
// could list the conversation again. So somebody else who has the conversation must count them as a member too, unless nobody
// else has it (its creator, before the invitations went out). Somebody else is an account: a User document in its own partition.
// A device may put any document into the partition of its user, also one that pretends to be another person's.
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

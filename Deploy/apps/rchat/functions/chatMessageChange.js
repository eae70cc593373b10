// A new message: one more unread for every member of the conversation but its author.
exports = async function ({ fullDocument: message }) {
  if (!message.author) {
    throw new Error(`The message ${message._id} has no author`);
  }
  const prefix = "conversation=";
  if (!message.partition.startsWith(prefix)) {
    throw new Error(`The message ${message._id} isn't in a conversation, but in ${message.partition}`);
  }
  const conversationId = message.partition.slice(prefix.length);
  const users = context.services.get("mongodb-atlas").db("RChat").collection("User");
  await users.updateMany(
    { userName: { $ne: message.author }, "conversations.id": conversationId },
    { $inc: { "conversations.$[conversation].unreadCount": 1 } },
    { arrayFilters: [{ "conversation.id": conversationId }] }
  );
};

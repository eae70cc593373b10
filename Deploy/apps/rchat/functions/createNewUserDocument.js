// A new account gets its User document; the Chatster follows from that (userDocWrittenTo).
exports = async function ({ user }) {
  const users = context.services.get("mongodb-atlas").db("RChat").collection("User");
  const partition = `user=${user.id}`;
  if (await users.findOne({ _id: user.id, partition })) {
    return;
  }
  // Another user may have guessed the id and inserted a document with it into a partition of their own.
  await users.deleteOne({ _id: user.id });
  await users.insertOne({
    _id: user.id,
    partition,
    userName: user.data?.email ?? user.id,
    userPreferences: { displayName: "" },
    conversations: [],
    presence: context.values.get("initialPresence"),
  });
};

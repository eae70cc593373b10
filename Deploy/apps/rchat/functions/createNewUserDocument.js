// A new account gets its User document; the Chatster follows from that (userDocWrittenTo).
exports = async function ({ user }) {
  const users = context.services.get("mongodb-atlas").db("RChat").collection("User");
  if (await users.findOne({ _id: user.id })) {
    return;
  }
  await users.insertOne({
    _id: user.id,
    partition: `user=${user.id}`,
    userName: user.data?.email ?? user.id,
    userPreferences: { displayName: "" },
    conversations: [],
    presence: context.values.get("initialPresence"),
  });
};

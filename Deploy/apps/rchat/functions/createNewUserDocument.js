// A new account gets its Chatster, which gives it its name for good, and its User document.
exports = async function ({ user }) {
  const db = context.services.get("mongodb-atlas").db("RChat");
  const users = db.collection("User");
  const chatsters = db.collection("Chatster");
  const partition = `user=${user.id}`;
  const everyone = "all-users=all-the-users";
  const userName = user.data?.email ?? user.id;
  const presence = context.values.get("initialPresence");

  // Another user may have guessed the id and inserted documents with it into a partition of their own.
  await chatsters.deleteOne({ _id: user.id, partition: { $ne: everyone } });
  await chatsters.updateOne(
    { _id: user.id },
    { $setOnInsert: { partition: everyone, userName, displayName: "", presence } },
    { upsert: true }
  );
  await users.deleteOne({ _id: user.id, partition: { $ne: partition } });
  await users.updateOne(
    { _id: user.id },
    {
      $set: { userName },
      $setOnInsert: { partition, userPreferences: { displayName: "" }, conversations: [], presence },
    },
    { upsert: true }
  );
};

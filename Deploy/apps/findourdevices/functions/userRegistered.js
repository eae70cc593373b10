exports = async function ({ user }) {
  await context.services.get("mongodb-atlas").db("findourdevices").collection("User").updateOne(
    { _id: user.id },
    { $setOnInsert: { partition: `user=${user.id}`, email: user.data?.email ?? user.id, groups: [], invitations: [] } },
    { upsert: true }
  );
};

// A deleted account: its groups end, it leaves the others, and its devices are forgotten.
exports = async function ({ user }) {
  const client = context.services.get("mongodb-atlas");
  const db = client.db("findourdevices");
  await client.startSession().withTransaction(async (session) => {
    const account = await db.collection("User").findOne({ _id: user.id }, { session });
    for (const { id } of account?.groups ?? []) {
      const group = await db.collection("Group").findOne({ _id: id }, { session });
      if (group?.owner === user.id) {
        await db.collection("Group").deleteOne({ _id: id }, { session });
        await db.collection("Member").deleteMany({ partition: `group=${id}` }, { session });
        await db.collection("User").updateMany({ "groups.id": id }, { $pull: { groups: { id } } }, { session });
        await db.collection("User").updateMany({ "invitations.group": id }, { $pull: { invitations: { group: id } } }, { session });
      } else {
        await db.collection("Member").deleteOne({ _id: `${id}:${user.id}` }, { session });
        await db.collection("Group").updateOne({ _id: id }, { $inc: { memberCount: -1 } }, { session });
      }
    }
    await db.collection("Device").deleteMany({ partition: `device=${user.id}` }, { session });
    await db.collection("User").deleteOne({ _id: user.id }, { session });
  });
};

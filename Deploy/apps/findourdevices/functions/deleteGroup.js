// The owner ends a group: for all members, and for those who are invited.
exports = async function ({ group: id } = {}) {
  if (typeof id !== "string") {
    throw new Error("group must be the id of a group");
  }
  const client = context.services.get("mongodb-atlas");
  const db = client.db("findourdevices");
  await client.startSession().withTransaction(async (session) => {
    const group = await db.collection("Group").findOne({ _id: id }, { session });
    if (!group) return;
    if (group.owner !== context.user.id) throw new Error("only its owner deletes a group");
    await db.collection("Group").deleteOne({ _id: id }, { session });
    await db.collection("Member").deleteMany({ partition: `group=${id}` }, { session });
    await db.collection("User").updateMany({ "groups.id": id }, { $pull: { groups: { id } } }, { session });
    await db.collection("User").updateMany({ "invitations.group": id }, { $pull: { invitations: { group: id } } }, { session });
  });
};

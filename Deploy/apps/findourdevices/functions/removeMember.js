// The owner removes a member, or a member leaves. With the Member document goes its place on the others' maps, and the right to read.
exports = async function ({ group: id, user = context.user.id } = {}) {
  if (typeof id !== "string" || typeof user !== "string") {
    throw new Error("removeMember takes {group, user}");
  }
  const client = context.services.get("mongodb-atlas");
  const db = client.db("findourdevices");
  await client.startSession().withTransaction(async (session) => {
    const group = await db.collection("Group").findOne({ _id: id }, { session });
    const isOwner = group?.owner === context.user.id;
    if (!isOwner && user !== context.user.id) throw new Error("only its owner removes members of a group");
    if (group && group.owner === user) throw new Error("you own this group: delete it");
    const gone = await db.collection("Member").deleteOne({ _id: `${id}:${user}` }, { session });
    if (gone.deletedCount === 0) return;
    await db.collection("Group").updateOne({ _id: id }, { $inc: { memberCount: -1 } }, { session });
    await db.collection("User").updateOne({ _id: user }, { $pull: { groups: { id } } }, { session });
  });
};

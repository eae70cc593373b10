// A member invites an account by its address. The answer doesn't tell whether there is such an account.
exports = async function ({ group: id, email } = {}) {
  if (typeof id !== "string" || typeof email !== "string" || email.length > 320) {
    throw new Error("invite takes {group, email}");
  }
  const client = context.services.get("mongodb-atlas");
  const db = client.db("findourdevices");
  await client.startSession().withTransaction(async (session) => {
    // A write, and not only a look: so a removal of this member comes before or after it.
    const mine = await db.collection("Member").updateOne(
      { _id: `${id}:${context.user.id}` }, { $set: { invitedAt: new Date() } }, { session });
    const group = await db.collection("Group").findOne({ _id: id }, { session });
    if (mine.matchedCount === 0 || !group) throw new Error("you aren't a member of this group");
    const member = await db.collection("Member").findOne({ _id: `${id}:${context.user.id}` }, { session });
    await db.collection("User").updateOne(
      { email, "groups.id": { $ne: id }, "invitations.group": { $ne: id }, "invitations.99": { $exists: false } },
      { $push: { invitations: { group: id, name: group.name, from: member.name } } },
      { session }
    );
  });
};

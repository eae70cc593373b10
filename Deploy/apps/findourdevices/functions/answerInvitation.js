// The caller joins a group they are invited to, or declines.
exports = async function ({ group: id, isAccepted, isSharing = true } = {}) {
  if (typeof id !== "string" || typeof isAccepted !== "boolean" || typeof isSharing !== "boolean") {
    throw new Error("answerInvitation takes {group, isAccepted, isSharing}");
  }
  const client = context.services.get("mongodb-atlas");
  const db = client.db("findourdevices");
  const me = context.user.id;
  await client.startSession().withTransaction(async (session) => {
    const account = await db.collection("User").findOne({ _id: me }, { session });
    const invitation = account?.invitations.find((candidate) => candidate.group === id);
    if (!invitation) {
      // An earlier attempt was carried out, and its answer lost.
      if (isAccepted && !account?.groups.some((group) => group.id === id)) throw new Error("you aren't invited to this group");
      return;
    }
    await db.collection("User").updateOne({ _id: me }, { $pull: { invitations: { group: id } } }, { session });
    if (!isAccepted) return;
    if (account.groups.length >= 100) throw new Error("you are in 100 groups, the most that one may be in");
    const group = await db.collection("Group").updateOne({ _id: id }, { $inc: { memberCount: 1 } }, { session });
    if (group.matchedCount === 0) return;
    await db.collection("Member").insertOne(
      { _id: `${id}:${me}`, partition: `group=${id}`, userID: me, name: account.email, isSharing, devices: {} }, { session });
    await db.collection("User").updateOne({ _id: me }, { $push: { groups: { id, name: invitation.name } } }, { session });
  });
  await context.functions.execute("shareDevices", me);
};

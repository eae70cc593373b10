// The caller's new group. The caller chooses the id, so that a call that is repeated, since its answer was lost, makes no second one.
exports = async function ({ id, name } = {}) {
  if (typeof id !== "string" || !/^[0-9a-f]{24}$/.test(id)) {
    throw new Error("id must be 24 hexadecimal digits");
  }
  if (typeof name !== "string" || name.trim() === "" || name.length > 80) {
    throw new Error("name must be a text of 1 to 80 characters");
  }
  const client = context.services.get("mongodb-atlas");
  const db = client.db("findourdevices");
  const me = context.user.id;
  const partition = `group=${id}`;
  await client.startSession().withTransaction(async (session) => {
    const group = await db.collection("Group").findOne({ _id: id }, { session });
    if (group) {
      if (group.owner !== me) throw new Error("there is a group with this id");
      return;
    }
    const account = await db.collection("User").findOne({ _id: me }, { session });
    if (!account) throw new Error("your account isn't ready yet");
    if (account.groups.length >= 100) throw new Error("you are in 100 groups, the most that one may be in");
    await db.collection("Group").insertOne({ _id: id, partition, name, owner: me, memberCount: 1 }, { session });
    await db.collection("Member").insertOne(
      { _id: `${id}:${me}`, partition, userID: me, name: account.email, isSharing: true, devices: {} }, { session });
    await db.collection("User").updateOne({ _id: me }, { $push: { groups: { id, name } } }, { session });
  });
  await context.functions.execute("shareDevices", me);
};

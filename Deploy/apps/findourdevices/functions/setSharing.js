// Whether a group sees where the caller's devices are. Off: they are gone from its maps with the same write.
exports = async function ({ group: id, isSharing } = {}) {
  if (typeof id !== "string" || typeof isSharing !== "boolean") {
    throw new Error("setSharing takes {group, isSharing}");
  }
  const members = context.services.get("mongodb-atlas").db("findourdevices").collection("Member");
  const mine = { _id: `${id}:${context.user.id}` };
  if (!(await members.findOne(mine))) {
    throw new Error("you aren't a member of this group");
  }
  await members.updateOne({ ...mine, isSharing: !isSharing }, { $set: { isSharing, devices: {} } });
  if (isSharing) {
    await context.functions.execute("shareDevices", context.user.id);
  }
};

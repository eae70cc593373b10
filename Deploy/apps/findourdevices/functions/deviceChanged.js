// A device moved, is new or gone: the groups with which its owner shares see it. One write decides whether the owner shares and sets the
// place, so a device never comes back on a map from which its owner has just taken it. A map shows at most 50 devices of a member: each move
// is sent to all members together with the others, so that many devices would stop everybody's maps.
exports = async function ({ documentKey, fullDocument: device, fullDocumentBeforeChange: before }) {
  const owner = (device ?? before).partition.slice("device=".length);
  const members = context.services.get("mongodb-atlas").db("findourdevices").collection("Member");
  const field = `devices.${documentKey._id.toHexString()}`;
  if (!device) {
    await members.updateMany({ userID: owner, [field]: { $exists: true } }, { $unset: { [field]: "" } });
    return;
  }
  const shown = { name: device.name };
  if (device.location) shown.location = device.location;
  const hasRoom = { $expr: { $lt: [{ $size: { $objectToArray: "$devices" } }, 50] } };
  await members.updateMany(
    { userID: owner, isSharing: true, $or: [{ [field]: { $exists: true } }, hasRoom] }, { $set: { [field]: shown } });
};

// Has the trigger carry a user's devices to the groups again. Only the trigger does that, in the order of each device's changes, so that no
// older place overtakes a newer one.
exports = async function (user) {
  const devices = context.services.get("mongodb-atlas").db("findourdevices").collection("Device");
  await devices.updateMany({ partition: `device=${user}` }, { $set: { sharedAt: new Date() } });
};

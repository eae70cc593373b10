// What managers see of an account: its role, its team and, while it has a role, where it is. Reads what is there now: of two runs for the
// same account, the one that has read something older conflicts with the other, and runs again.
exports = async function ({ ns, documentKey, fullDocument, fullDocumentBeforeChange }) {
  // A location is its partition's, whatever id a device has given it.
  const _id = ns.coll === "User" ? documentKey._id : (fullDocument ?? fullDocumentBeforeChange).partition.slice("location=".length);
  const client = context.services.get("mongodb-atlas");
  const db = client.db("teamwork");
  const workers = db.collection("Worker");
  await client.startSession().withTransaction(async (session) => {
    const known = await workers.findOne({ _id }, { session });
    const user = await db.collection("User").findOne({ _id }, { session });
    if (!user) {
      if (known) await workers.deleteOne({ _id }, { session });
      return;
    }
    const shown = { _id, partition: "managers", email: user.email, role: user.role };
    if (user.team) shown.team = user.team;
    if (user.role !== "none") {
      const [place] = await db.collection("Location").find({ partition: `location=${_id}` }, { session })
        .sort({ "location.at": -1 }).limit(1).toArray();
      if (place) shown.location = place.location;
    }
    if (!known) await workers.insertOne(shown, { session });
    else if (EJSON.stringify(known) !== EJSON.stringify(shown)) await workers.replaceOne({ _id }, shown, { session });
  });
};

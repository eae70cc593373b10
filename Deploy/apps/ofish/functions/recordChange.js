// The history of every document but photos: what changed, and what it was. It writes to ChangeHistory only, whose changes have no
// trigger, so it doesn't start itself.
exports = async function (event) {
  const { operationType, ns, documentKey, fullDocument, fullDocumentBeforeChange: before, updateDescription, wallTime } = event;
  const document = fullDocument ?? before;
  const agency = ns.coll === "Agency" ? document?.name : ns.coll === "User" ? document?.agency?.name : document?.agency;
  const entry = {
    collection: ns.coll,
    documentID: documentKey._id,
    operation: operationType,
    at: wallTime ?? new Date(),
    updated: Object.entries(updateDescription?.updatedFields ?? {}).map(([path, value]) => ({ path, value })),
    removed: updateDescription?.removedFields ?? [],
  };
  if (agency) entry.ofAgency = agency;
  if (before) entry.before = before;
  await context.services.get("mongodb-atlas").db("ofish").collection("ChangeHistory").insertOne(entry);
};

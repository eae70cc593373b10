// One report with its photos. To a caller who may not read it, it is as if it weren't there.
exports = async function (id) {
  const isText = typeof id === "string" && /^[0-9a-f]{24}$/i.test(id);
  if (!isText && !(id instanceof BSON.ObjectId)) {
    throw new Error("id must be the id of a report");
  }
  const _id = isText ? new BSON.ObjectId(id) : id;
  const readable = await context.functions.execute("readableAgencies");
  const db = context.services.get("mongodb-atlas").db("ofish");
  const report = await db.collection("BoardingReports").findOne({ _id, ...(readable ? { agency: { $in: readable } } : {}) });
  if (!report) {
    throw new Error("there is no such report");
  }
  const photos = await db.collection("Photo")
    .find({ referencingReportID: _id, agency: report.agency }, { picture: 0 }).limit(100).toArray();
  return { report, photos };
};

// A photo whose report was deleted before the device uploaded the photo. A photo may also arrive before its report, which is no reason to
// delete it: only the history tells the two apart.
exports = async function ({ fullDocument: photo }) {
  const db = context.services.get("mongodb-atlas").db("ofish");
  const report = { collection: "BoardingReports", documentID: photo.referencingReportID, ofAgency: photo.agency };
  if (await db.collection("BoardingReports").findOne({ _id: photo.referencingReportID, agency: photo.agency }, { _id: 1 })) {
    return;
  }
  if (await db.collection("ChangeHistory").findOne({ ...report, operation: "delete" })) {
    await db.collection("Photo").deleteOne({ _id: photo._id, agency: photo.agency });
  }
};

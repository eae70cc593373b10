// A deleted report takes its photos with it. The history first: a photo that a device uploads later finds there that its report is gone
// (photoAdded). Only photos of the report's own agency: another one's officers may write any id into theirs.
exports = async function (event) {
  await context.functions.execute("recordChange", event);
  const photos = context.services.get("mongodb-atlas").db("ofish").collection("Photo");
  await photos.deleteMany({ referencingReportID: event.documentKey._id, agency: event.fullDocumentBeforeChange.agency });
};

// A page of reports, newest first. `next` of an answer is the `after` of the following page: reports that arrive meanwhile move nothing.
exports = async function ({ agency, risk, after, pageSize = 20 } = {}) {
  if (!Number.isInteger(Number(pageSize)) || pageSize < 1 || pageSize > 100) {
    throw new Error("pageSize must be a whole number of 1 to 100");
  }
  if (risk !== undefined && !["green", "amber", "red"].includes(risk)) {
    throw new Error("risk must be green, amber or red");
  }
  const filter = {};
  if (after !== undefined && after !== null) {
    if (!(after.timestamp instanceof Date) || !(after.id instanceof BSON.ObjectId)) {
      throw new Error("after must be the next of the page before");
    }
    filter.$or = [{ timestamp: { $lt: after.timestamp } }, { timestamp: after.timestamp, _id: { $lt: after.id } }];
  }
  const readable = await context.functions.execute("readableAgencies", agency);
  if (readable) filter.agency = { $in: readable };
  if (risk) filter["risk.level"] = risk;
  const found = await context.services.get("mongodb-atlas").db("ofish").collection("BoardingReports")
    .find(filter, { agency: 1, timestamp: 1, vessel: 1, captain: 1, risk: 1 })
    .sort({ timestamp: -1, _id: -1 }).limit(Number(pageSize) + 1).toArray();
  const reports = found.slice(0, Number(pageSize));
  const last = found.length > reports.length ? reports[reports.length - 1] : null;
  return { reports, next: last && { timestamp: last.timestamp, id: last._id } };
};

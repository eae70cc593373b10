// An agency begins or ends to share its reports with another one. $addToSet and $pull: two admins may do so at once.
exports = async function ({ agency, partner, isShared } = {}) {
  if (typeof partner !== "string" || partner === agency || typeof isShared !== "boolean") {
    throw new Error("setPartner takes {agency, partner, isShared}, with the names of two agencies");
  }
  await context.functions.execute("mayAdminister", agency);
  const agencies = context.services.get("mongodb-atlas").db("ofish").collection("Agency");
  if (isShared && !(await agencies.findOne({ name: partner }))) {
    throw new Error(`there is no agency ${partner}`);
  }
  const change = { partners: partner };
  await agencies.updateOne({ name: agency }, isShared ? { $addToSet: change } : { $pull: change });
};

// May the user read an agency's partition without being a member: as a global admin, or as a member of a partner?
exports = async function (name) {
  const db = context.services.get("mongodb-atlas").db("ofish");
  const user = await db.collection("User").findOne({ userID: context.user.id });
  if (user?.active !== true) {
    return false;
  }
  const isKnown = user.global.admin ? { name } : user.agency.name ? { name, partners: user.agency.name } : null;
  return isKnown !== null && (await db.collection("Agency").findOne(isKnown)) !== null;
};

// An admin admits an account to an agency, makes it an admin, or dismisses it (isActive: false). Admins of an agency decide only about
// accounts that no other agency has; the rights of a global admin are no agency's business.
exports = async function ({ email, agency, isAdmin = false, isActive = true } = {}) {
  if (typeof email !== "string" || typeof isAdmin !== "boolean" || typeof isActive !== "boolean") {
    throw new Error("setMember takes {email, agency, isAdmin, isActive}");
  }
  const caller = await context.functions.execute("mayAdminister", agency);
  const users = context.services.get("mongodb-atlas").db("ofish").collection("User");
  const free = { $or: [{ "agency.name": agency }, { "agency.name": { $exists: false } }], "global.admin": false };
  const result = await users.updateOne(
    { email, ...(caller.isGlobalAdmin ? {} : free) },
    { $set: { agency: { name: agency, admin: isActive && isAdmin }, active: isActive } }
  );
  if (result.matchedCount === 0) {
    throw new Error(`there is no account ${email} that you may change`);
  }
};

// Who calls, by the present User document: the token's custom data may be half an hour old. Every public function begins here.
exports = async function () {
  const users = context.services.get("mongodb-atlas").db("ofish").collection("User");
  const user = await users.findOne({ userID: context.user.id });
  if (user?.active !== true) {
    throw new Error("your account isn't active: an admin of an agency has to admit it");
  }
  return {
    email: user.email,
    agency: user.agency.name ?? null,
    isAgencyAdmin: Boolean(user.agency.name) && user.agency.admin,
    isGlobalAdmin: user.global.admin,
  };
};

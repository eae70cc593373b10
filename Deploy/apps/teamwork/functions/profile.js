exports = async function () {
  const users = context.services.get("mongodb-atlas").db("teamwork").collection("User");
  const me = await users.findOne({ _id: context.user.id });
  return { id: context.user.id, email: me?.email ?? "", role: me?.role ?? "none", team: me?.team ?? null };
};

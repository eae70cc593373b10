// A manager creates a team. A call that is repeated, since its answer was lost, changes nothing.
exports = async function ({ id, name } = {}) {
  if (typeof id !== "string" || !/^[a-z0-9][a-z0-9-]{0,39}$/.test(id)) {
    throw new Error("id must be 1 to 40 small letters, digits and hyphens");
  }
  if (typeof name !== "string" || name.trim() === "" || name.length > 80) {
    throw new Error("name must be a text of 1 to 80 characters");
  }
  const db = context.services.get("mongodb-atlas").db("teamwork");
  if (!(await db.collection("User").findOne({ _id: context.user.id, role: "manager" }))) {
    throw new Error("only managers create teams");
  }
  await db.collection("Team").updateOne({ _id: id }, { $setOnInsert: { partition: "teams", name } }, { upsert: true });
};

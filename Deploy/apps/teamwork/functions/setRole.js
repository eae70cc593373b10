// A manager gives an account a role and, as a worker, a team. Nobody changes their own role, so there is a manager as long as the last one
// keeps their account.
exports = async function ({ email, role, team } = {}) {
  if (typeof email !== "string" || !["manager", "worker", "none"].includes(role)) {
    throw new Error("setRole takes {email, role, team}; role is manager, worker or none");
  }
  if (role === "worker" ? typeof team !== "string" : team !== undefined) {
    throw new Error("a worker has a team, and nobody else");
  }
  const client = context.services.get("mongodb-atlas");
  const db = client.db("teamwork");
  const users = db.collection("User");
  await client.startSession().withTransaction(async (session) => {
    // A write, and not only a look: of two managers who take each other's role at the same time, one comes too late.
    const mine = await users.updateOne(
      { _id: context.user.id, role: "manager" }, { $set: { actedAt: new Date() } }, { session });
    if (mine.matchedCount === 0) throw new Error("only managers give roles");
    if (team !== undefined && !(await db.collection("Team").findOne({ _id: team }, { session }))) {
      throw new Error(`there is no team ${team}`);
    }
    const change = team === undefined ? { $set: { role }, $unset: { team: "" } } : { $set: { role, team } };
    const result = await users.updateOne({ email, _id: { $ne: context.user.id } }, change, { session });
    if (result.matchedCount === 0) throw new Error(`there is no other account ${email}`);
  });
};

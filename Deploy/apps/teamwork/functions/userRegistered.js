// A new account has no role until a manager gives it one.
exports = async function ({ user }) {
  const db = context.services.get("mongodb-atlas").db("teamwork");
  await db.collection("User").updateOne(
    { _id: user.id },
    { $setOnInsert: { partition: `user=${user.id}`, email: user.data?.email ?? user.id, role: "none" } },
    { upsert: true }
  );
};

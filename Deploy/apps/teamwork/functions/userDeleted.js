exports = async function ({ user }) {
  const db = context.services.get("mongodb-atlas").db("teamwork");
  await db.collection("User").deleteOne({ _id: user.id });
  await db.collection("Location").deleteMany({ partition: `location=${user.id}` });
};

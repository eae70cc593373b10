// A deleted account loses its User document and its Chatster; the memberships follow from that (userDocWrittenTo).
exports = async function ({ user }) {
  const db = context.services.get("mongodb-atlas").db("RChat");
  await db.collection("User").deleteOne({ _id: user.id });
  await db.collection("Chatster").deleteOne({ _id: user.id });
};

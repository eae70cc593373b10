// A deleted account loses its User document; Chatster and memberships follow from that (userDocWrittenTo).
exports = async function ({ user }) {
  const users = context.services.get("mongodb-atlas").db("RChat").collection("User");
  await users.deleteOne({ _id: user.id });
};

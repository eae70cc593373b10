exports = async function ({ user }) {
  await context.services.get("mongodb-atlas").db("ofish").collection("User").deleteOne({ userID: user.id });
};

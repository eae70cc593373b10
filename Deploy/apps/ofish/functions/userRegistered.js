// A new account gets its User document; it may do nothing until an admin admits it.
exports = async function ({ user }) {
  const users = context.services.get("mongodb-atlas").db("ofish").collection("User");
  await users.updateOne(
    { userID: user.id },
    { $setOnInsert: { email: user.data?.email ?? user.id, active: false, agency: { admin: false }, global: { admin: false } } },
    { upsert: true }
  );
};

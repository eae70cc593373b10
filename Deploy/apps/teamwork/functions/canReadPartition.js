// The role and the team in the user's own document decide. Functions alone write it: the schemas keep User documents out of the partitions
// that devices write.
exports = async function (partition) {
  const separator = partition.indexOf("=");
  const kind = separator < 0 ? partition : partition.slice(0, separator);
  const value = separator < 0 ? null : partition.slice(separator + 1);
  const me = context.user.id;
  if (kind === "user") {
    return value === me;
  }
  const users = context.services.get("mongodb-atlas").db("teamwork").collection("User");
  const { role, team } = (await users.findOne({ _id: me })) ?? { role: "none" };
  switch (kind) {
    case "master":
    case "managers":
      return value === null && role === "manager";
    case "teams":
      return value === null && role !== "none";
    case "team":
      return role === "manager" || (role === "worker" && value !== null && value !== "" && value === team);
    case "location":
      return value === me && role !== "none";
    default:
      return false;
  }
};

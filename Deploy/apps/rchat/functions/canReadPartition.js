// May the user read a partition? "user=<id>": only that user; "conversation=<id>": its members; "all-users=…": everyone.
exports = async function (partition) {
  const separator = partition.indexOf("=");
  const kind = partition.slice(0, separator);
  const value = partition.slice(separator + 1);

  switch (kind) {
    case "all-users":
      return value === "all-the-users";
    case "user":
      return value === context.user.id;
    case "conversation":
      return await context.functions.execute("isConversationMember", value);
    default:
      return false;
  }
};

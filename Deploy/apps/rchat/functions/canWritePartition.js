// May the user write a partition? As canReadPartition, except that only triggers write "all-users=…".
exports = async function (partition) {
  const separator = partition.indexOf("=");
  const kind = partition.slice(0, separator);
  const value = partition.slice(separator + 1);

  switch (kind) {
    case "user":
      return value === context.user.id;
    case "conversation":
      return await context.functions.execute("isConversationMember", value);
    default:
      return false;
  }
};

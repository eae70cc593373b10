// "user=<id>" and "device=<id>": only that user; "group=<id>": its members. Functions alone write Member documents: the schema keeps them
// out of the one partition that devices write.
exports = async function (partition) {
  const separator = partition.indexOf("=");
  const kind = partition.slice(0, separator);
  const value = partition.slice(separator + 1);
  switch (kind) {
    case "user":
    case "device":
      return value === context.user.id;
    case "group": {
      const members = context.services.get("mongodb-atlas").db("findourdevices").collection("Member");
      return (await members.findOne({ _id: `${value}:${context.user.id}` })) !== null;
    }
    default:
      return false;
  }
};

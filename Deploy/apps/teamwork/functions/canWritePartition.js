// Managers write the master list, everybody the jobs of a team that they may read, and each their own location. The rest is written by
// functions and triggers.
exports = async function (partition) {
  const isWritten = partition === "master" || partition.startsWith("team=") || partition.startsWith("location=");
  return isWritten && (await context.functions.execute("canReadPartition", partition));
};

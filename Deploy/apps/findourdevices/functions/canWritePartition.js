// A user's own devices; everything else is written by functions.
exports = async function (partition) {
  return partition === `device=${context.user.id}`;
};

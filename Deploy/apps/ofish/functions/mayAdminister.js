// The caller, if they administer an agency; otherwise it throws.
exports = async function (agency) {
  if (typeof agency !== "string" || agency === "") {
    throw new Error("agency must be the name of an agency");
  }
  const caller = await context.functions.execute("caller");
  if (!caller.isGlobalAdmin && !(caller.isAgencyAdmin && caller.agency === agency)) {
    throw new Error(`you don't administer ${agency}`);
  }
  const agencies = context.services.get("mongodb-atlas").db("ofish").collection("Agency");
  if (!(await agencies.findOne({ name: agency }))) {
    throw new Error(`there is no agency ${agency}`);
  }
  return caller;
};

// The agencies whose reports the caller may read: the own one, and those that share theirs with it; for a global admin null, all.
// With an agency given, only that one, if the caller may read it.
exports = async function (agency) {
  if (agency !== undefined && agency !== null && typeof agency !== "string") {
    throw new Error("agency must be a text");
  }
  const caller = await context.functions.execute("caller");
  if (caller.isGlobalAdmin) {
    return agency ? [agency] : null;
  }
  if (!caller.agency) {
    return [];
  }
  const agencies = context.services.get("mongodb-atlas").db("ofish").collection("Agency");
  const sharing = await agencies.find({ partners: caller.agency }, { name: 1 }).toArray();
  const readable = [caller.agency, ...sharing.map((found) => found.name)];
  if (!agency) {
    return readable;
  }
  if (!readable.includes(agency)) {
    throw new Error(`you may not read the reports of ${agency}`);
  }
  return [agency];
};

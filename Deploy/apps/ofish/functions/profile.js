// What a page shows of its user, and which agencies' partitions it may open.
exports = async function () {
  const caller = await context.functions.execute("caller");
  const readable = await context.functions.execute("readableAgencies");
  if (readable !== null) {
    return { ...caller, readable };
  }
  const agencies = await context.services.get("mongodb-atlas").db("ofish").collection("Agency")
    .find({}, { name: 1 }).sort({ name: 1 }).limit(1000).toArray();
  return { ...caller, readable: agencies.map((agency) => agency.name) };
};

// A global admin creates an agency, with its menus. A call that is repeated, since its answer was lost, changes nothing.
exports = async function (name, description = "") {
  if (typeof name !== "string" || !/^[\p{L}\p{N}][\p{L}\p{N} .'-]{0,79}$/u.test(name)) {
    throw new Error("an agency's name has 1 to 80 letters, digits, spaces, points, hyphens and apostrophes");
  }
  if (typeof description !== "string" || description.length > 1000) {
    throw new Error("description must be a text of at most 1000 characters");
  }
  const caller = await context.functions.execute("caller");
  if (!caller.isGlobalAdmin) {
    throw new Error("only a global admin creates agencies");
  }
  const db = context.services.get("mongodb-atlas").db("ofish");
  await db.collection("Agency").updateOne({ name }, { $setOnInsert: { description, partners: [] } }, { upsert: true });
  await db.collection("MenuData").updateOne(
    { agency: name },
    { $setOnInsert: { species: [], offences: [], ports: [] } },
    { upsert: true }
  );
};

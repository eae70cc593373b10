// The words that an agency's forms offer.
exports = async function ({ agency, species = [], offences = [], ports = [] } = {}) {
  for (const list of [species, offences, ports]) {
    const isMenu = Array.isArray(list) && list.length <= 500 && list.every((word) => typeof word === "string" && word.length <= 200);
    if (!isMenu) {
      throw new Error("a menu has at most 500 texts of at most 200 characters");
    }
  }
  await context.functions.execute("mayAdminister", agency);
  const menus = context.services.get("mongodb-atlas").db("ofish").collection("MenuData");
  await menus.updateOne({ agency }, { $set: { species, offences, ports } }, { upsert: true });
};

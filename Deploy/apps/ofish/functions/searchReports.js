// A page of the reports that contain words, best first: with the words found, and how many there are by risk, agency and flag.
exports = async function ({ query, agency, risk, page = 0, pageSize = 20 } = {}) {
  if (typeof query !== "string" || query.trim() === "" || query.length > 200) {
    throw new Error("query must be a text of 1 to 200 characters");
  }
  if (risk !== undefined && !["green", "amber", "red"].includes(risk)) {
    throw new Error("risk must be green, amber or red");
  }
  const isWhole = (number, least, most) => Number.isInteger(Number(number)) && number >= least && number <= most;
  if (!isWhole(page, 0, 1000) || !isWhole(pageSize, 1, 100)) {
    throw new Error("page must be a whole number of 0 to 1000, and pageSize one of 1 to 100");
  }
  const readable = await context.functions.execute("readableAgencies", agency);
  if (readable?.length === 0) {
    return { total: 0, reports: [], facets: {} };
  }
  const path = [
    "vessel.name", "vessel.permitNumber", "vessel.homePort", "vessel.nationality", "captain.name", "captain.license",
    "crew.name", "catch.species", "inspection.activity", "inspection.violations.offence", "risk.reason", "notes.text",
  ];
  const filter = [];
  if (readable) filter.push({ in: { path: "agency", value: readable } });
  if (risk) filter.push({ equals: { path: "risk.level", value: risk } });
  const compound = { must: [{ text: { query, path } }], filter };
  const reports = context.services.get("mongodb-atlas").db("ofish").collection("BoardingReports");
  const facet = (path) => ({ type: "string", path, numBuckets: 50 });
  const [found, [meta]] = await Promise.all([
    reports.aggregate([
      { $search: { compound, highlight: { path } } },
      { $skip: Number(page) * Number(pageSize) },
      { $limit: Number(pageSize) },
      {
        $project: {
          agency: 1, timestamp: 1, vessel: 1, captain: 1, risk: 1,
          score: { $meta: "searchScore" }, highlights: { $meta: "searchHighlights" },
        },
      },
    ]).toArray(),
    reports.aggregate([
      {
        $searchMeta: {
          facet: {
            operator: { compound },
            facets: { risk: facet("risk.level"), agency: facet("agency"), flag: facet("vessel.nationality") },
          },
          count: { type: "total" },
        },
      },
    ]).toArray(),
  ]);
  const buckets = (name) => meta.facet[name].buckets.map(({ _id, count }) => ({ value: _id, count }));
  return {
    total: meta.count.total,
    reports: found,
    facets: { risk: buckets("risk"), agency: buckets("agency"), flag: buckets("flag") },
  };
};

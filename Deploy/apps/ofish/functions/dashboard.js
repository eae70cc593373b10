// The figures of a span of time (at most ten years; by default the last one): boardings by risk and month, offences, catch, who is on duty.
exports = async function ({ agency, from, to } = {}) {
  const until = to ?? new Date();
  const since = from ?? new Date(Number(until) - 365 * 86400e3);
  if (!(since instanceof Date) || !(until instanceof Date) || !(until - since >= 0 && until - since <= 3660 * 86400e3)) {
    throw new Error("from and to must be dates, at most ten years apart");
  }
  const readable = await context.functions.execute("readableAgencies", agency);
  const within = readable ? { agency: { $in: readable } } : {};
  const db = context.services.get("mongodb-atlas").db("ofish");
  const violations = { $ifNull: ["$inspection.violations", []] };
  const [[figures], onDuty] = await Promise.all([
    db.collection("BoardingReports").aggregate([
      { $match: { ...within, timestamp: { $gte: since, $lte: until } } },
      {
        $facet: {
          totals: [
            {
              $group: {
                _id: null,
                boardings: { $sum: 1 },
                violations: { $sum: { $size: violations } },
                withViolations: { $sum: { $cond: [{ $gt: [{ $size: violations }, 0] }, 1, 0] } },
              },
            },
            { $project: { _id: 0 } },
          ],
          risks: [{ $sortByCount: "$risk.level" }],
          months: [
            { $group: { _id: { $dateToString: { date: "$timestamp", format: "%Y-%m" } }, boardings: { $sum: 1 } } },
            { $sort: { _id: 1 } },
          ],
          offences: [
            { $unwind: "$inspection.violations" },
            { $sortByCount: "$inspection.violations.offence" },
            { $limit: 10 },
          ],
          catch: [
            { $unwind: "$catch" },
            { $group: { _id: "$catch.species", weight: { $sum: "$catch.weight" } } },
            { $sort: { weight: -1, _id: 1 } },
            { $limit: 10 },
          ],
        },
      },
    ]).toArray(),
    db.collection("DutyChange").aggregate([
      { $match: within },
      { $sort: { date: 1 } },
      { $group: { _id: "$user.email", status: { $last: "$status" } } },
      { $match: { status: "onDuty" } },
      { $sort: { _id: 1 } },
      { $limit: 1000 },
    ]).toArray(),
  ]);
  const { totals: [totals = { boardings: 0, violations: 0, withViolations: 0 }], ...lists } = figures;
  return { from: since, to: until, ...totals, ...lists, onDuty: onDuty.map((officer) => officer._id) };
};

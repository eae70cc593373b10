// Brings a job of the master list and its copy in the team's partition into agreement, after either has changed. The master list decides
// about the task and the team, the copy about the work: status, done, notes, worker.
//
// It looks at what is there now, not at the event, so it may run late, again, or in any order. Where the two agree it writes nothing, and a
// write that changes nothing causes no event: so the events that it causes itself come to an end.
exports = async function ({ documentKey: { _id } }) {
  const client = context.services.get("mongodb-atlas");
  const db = client.db("teamwork");
  const jobs = db.collection("Job");
  const copies = db.collection("TeamJob");
  const task = ["title", "address", "location", "checklist"];
  const work = ["status", "done", "notes", "worker"];

  await client.startSession().withTransaction(async (session) => {
    const job = await jobs.findOne({ _id }, { session });
    let copy = await copies.findOne({ _id }, { session });
    const partition = job?.team ? `team=${job.team}` : null;

    // A copy that is in another place than the job's: of a deleted job, of the job's former team, or made by a device.
    let source = job;
    if (copy && copy.partition !== partition) {
      if (job && copy.partition === job.copyIn) source = copy;
      await copies.deleteOne({ _id, partition: copy.partition }, { session });
      copy = null;
    }
    if (!job) return;
    if (partition && !copy) {
      copy = { _id, partition, ...pick(job, task), ...pick(source, work) };
      await copies.insertOne(copy, { session });
    }

    const ofCopy = partition && difference(copy, job, task);
    if (ofCopy) await copies.updateOne({ _id }, ofCopy, { session });
    const wanted = { ...pick(copy ?? source, work), ...(partition ? { copyIn: partition } : {}) };
    const ofJob = difference(job, wanted, [...work, "copyIn"]);
    if (ofJob) await jobs.updateOne({ _id }, ofJob, { session });
  });

  function pick(document, fields) {
    return Object.fromEntries(fields.filter((field) => document[field] !== undefined).map((field) => [field, document[field]]));
  }

  // The update that gives a document the fields of another one; null if it has them.
  function difference(document, wanted, fields) {
    const $set = {}, $unset = {};
    for (const field of fields) {
      if (EJSON.stringify(document[field] ?? null) === EJSON.stringify(wanted[field] ?? null)) continue;
      if (wanted[field] === undefined) $unset[field] = "";
      else $set[field] = wanted[field];
    }
    const update = { ...(Object.keys($set).length ? { $set } : {}), ...(Object.keys($unset).length ? { $unset } : {}) };
    return Object.keys(update).length ? update : null;
  }
};

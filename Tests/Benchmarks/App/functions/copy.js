exports = async event => {
  await context.services.get("mongodb-atlas").db("Bench").collection("Copy").insertOne({ _id: event.documentKey._id });
};

import DocumentModel
import FunctionProtocol

extension DocumentCall {
    /// What every call may have. The last four are MongoDB's, and change nothing here.
    private static let common: Set<String> = [
        "database", "collection", "session", "maxTimeMS", "comment", "readConcern", "writeConcern", "readPreference",
    ]
    private static let selection: Set<String> = ["filter", "query", "collation", "hint"]
    private static let reading = selection.union([
        "projection", "project", "sort", "skip", "limit", "batchSize", "allowDiskUse",
    ])
    private static let aggregation: Set<String> = [
        "pipeline", "collation", "hint", "batchSize", "allowDiskUse", "cursor",
    ]
    private static let counting = selection.union(["skip", "limit"])
    private static let updating = selection.union(["update", "upsert", "arrayFilters"])
    private static let modifying = selection.union([
        "sort", "projection", "project", "upsert", "returnNewDocument", "returnDocument",
    ])

    /// The arguments of each method, by every name that an SDK, a driver or the data API gives them.
    private static let names: [String: Set<String>] = [
        "find": reading, "findOne": reading, "aggregate": aggregation,
        "explain": reading.union(aggregation).union(["verbosity"]),
        "count": counting, "countDocuments": counting, "estimatedDocumentCount": [],
        "distinct": selection.union(["field"]),
        "insertOne": ["document", "bypassDocumentValidation"],
        "insertMany": ["documents", "ordered", "bypassDocumentValidation"],
        "updateOne": updating, "updateMany": updating,
        "replaceOne": selection.union(["replacement", "update", "upsert"]),
        "deleteOne": selection, "deleteMany": selection,
        "findOneAndUpdate": modifying.union(["update", "arrayFilters"]),
        "findOneAndReplace": modifying.union(["replacement", "update"]), "findOneAndDelete": modifying,
        "bulkWrite": ["operations", "ordered"],
    ]

    /// What is misspelled would change nothing, and a call without its filter would meet every document.
    static func checkNames(of arguments: Document, _ action: String) throws(EffectFailure) {
        guard let known = names[action] else { return }
        for field in arguments.fields where field.value != .undefined {
            guard !known.contains(field.key), !common.contains(field.key) else { continue }
            throw EffectFailure(
                name: "MongoDBError", message: "BSON field '\(action).\(field.key)' is an unknown field.", code: 40415)
        }
    }
}

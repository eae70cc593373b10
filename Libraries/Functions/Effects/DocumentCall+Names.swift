import DocumentModel
import FunctionProtocol

extension DocumentCall {
    /// The arguments that every call may have. The last four are MongoDB's and have no effect here.
    private static let common: Set<String> = [
        "database", "collection", "session", "maxTimeMS", "comment", "readConcern", "writeConcern", "readPreference",
    ]
    private static let selection: Set<String> = ["filter", "query", "collation", "hint"]
    private static let defining = selection.union(["let"])
    private static let reading = defining.union([
        "projection", "project", "sort", "skip", "limit", "batchSize", "allowDiskUse",
    ])
    private static let aggregation: Set<String> = [
        "pipeline", "collation", "hint", "batchSize", "allowDiskUse", "cursor", "let",
    ]
    private static let counting = defining.union(["skip", "limit"])
    private static let updating = defining.union(["update", "upsert", "arrayFilters"])
    private static let modifying = defining.union([
        "sort", "projection", "project", "upsert", "returnNewDocument", "returnDocument",
    ])
    /// Options of MongoDB and its drivers that aren't supported here. `false` and null are accepted.
    private static let unsupported: Set<String> = [
        "allowPartialResults", "awaitData", "bypassDocumentValidation", "forceServerObjectId", "includeResultMetadata",
        "max", "min", "noCursorTimeout", "oplogReplay", "returnKey", "showRecordId", "singleBatch", "tailable",
        "timeoutMS", "useCompactEvents",
    ]

    /// The arguments of each method, under every name that an SDK, a driver or the data API uses for them.
    private static let names: [String: Set<String>] = [
        "find": reading, "findOne": reading, "aggregate": aggregation,
        "explain": reading.union(aggregation).union(["verbosity"]),
        "count": counting, "countDocuments": counting, "estimatedDocumentCount": [],
        "distinct": selection.union(["field"]),
        "insertOne": ["document"],
        "insertMany": ["documents", "ordered"],
        "updateOne": updating.union(["sort"]), "updateMany": updating,
        "replaceOne": defining.union(["replacement", "update", "upsert", "sort"]),
        "deleteOne": defining, "deleteMany": defining,
        "findOneAndUpdate": modifying.union(["update", "arrayFilters"]),
        "findOneAndReplace": modifying.union(["replacement", "update"]), "findOneAndDelete": modifying,
        "bulkWrite": ["operations", "ordered", "let"],
        // Only clients can watch, see `watchedIds`.
        "watch": ["filter", "ids", "resumeAfter", "startAfter"],
    ]

    /// Refuses unknown arguments. A misspelled one would have no effect, and a call without its filter would match every document.
    static func checkNames(of arguments: Document, _ action: String) throws(EffectFailure) {
        guard let known = names[action] else { return }
        for field in arguments.fields where field.value != .undefined {
            guard !known.contains(field.key), !common.contains(field.key) else { continue }
            if unsupported.contains(field.key) {
                if field.value == false || field.value == .null { continue }
                throw EffectFailure(name: "MongoDBError", message: "\(field.key) is not supported", code: 115)
            }
            throw EffectFailure(
                name: "MongoDBError", message: "BSON field '\(action).\(field.key)' is an unknown field.", code: 40415)
        }
    }
}

public import DocumentModel
public import DocumentStore
import FunctionProtocol
import QueryLanguage

/// A collection method as a function or a client calls it: its name and arguments, as App Services has them.
public struct DocumentCall: Sendable {
    public let action: String
    public let namespace: ChangeEvent.Namespace
    /// The session of the script that the call belongs to.
    public let session: Int64?
    private let arguments: Document

    /// - Throws: `EffectFailure` when a part that every call has is missing.
    public init(action: String, arguments: Document) throws(EffectFailure) {
        guard let database = arguments["database"]?.stringValue, let collection = arguments["collection"]?.stringValue
        else {
            throw EffectFailure(name: "MongoDBError", message: "\(action) needs a database and a collection", code: 2)
        }
        self.action = action
        self.arguments = arguments
        namespace = .init(database: database, collection: collection)
        session = arguments["session"]?.int64Value
    }

    /// Whether the call may change documents.
    public var isWrite: Bool {
        !["find", "findOne", "aggregate", "count", "countDocuments", "estimatedDocumentCount", "distinct"].contains(
            action)
    }

    /// The filter; what a decision depends on.
    public var filter: Filter {
        get throws { try Filter(arguments["filter"]?.documentValue ?? arguments["query"]?.documentValue ?? [:]) }
    }

    /// Carries the call out.
    /// - Throws: `DocumentStoreError`, `QueryError`, `EffectFailure`.
    public func perform(on collection: DocumentCollection) async throws -> Value {
        switch action {
        case "find":
            return .array(
                try await collection.find(try query(limit: int("limit"))).map { .document(try projected($0)) })
        case "findOne":
            return try await collection.find(try query(limit: 1)).first.map { .document(try projected($0)) } ?? .null
        case "count", "countDocuments":
            return .int64(Int64(try await collection.count(try filter, limit: int("limit"))))
        case "estimatedDocumentCount": return .int64(Int64(try await collection.count()))
        case "distinct": return .array(try await collection.distinct(try text("field"), try filter))
        case "insertOne":
            let ids = try await collection.insert([try document("document")])
            return .document(["insertedId": ids.first ?? .null])
        case "insertMany":
            let documents = try array("documents").map { try Self.document($0, "documents") }
            return .document(["insertedIds": .array(try await collection.insert(documents))])
        case "updateOne", "updateMany", "replaceOne":
            return Self.answer(
                try await collection.update(
                    try filter, try update, many: action == "updateMany", isUpsert: flag("upsert")))
        case "deleteOne", "deleteMany":
            return .document([
                "deletedCount": Self.count(try await collection.delete(try filter, many: action == "deleteMany"))
            ])
        case "findOneAndUpdate", "findOneAndReplace":
            let found = try await collection.findOneAndUpdate(
                try filter, try update, sort: try sort, isUpsert: flag("upsert"),
                returning: flag("returnNewDocument") ? .after : .before)
            return try found.map { .document(try projected($0)) } ?? .null
        case "findOneAndDelete":
            return try await collection.findOneAndDelete(try filter, sort: try sort).map {
                .document(try projected($0))
            } ?? .null
        case "bulkWrite": return try await bulkWrite(on: collection)
        default: throw EffectFailure(name: "MongoDBError", message: "\(action) is not supported", code: 59)
        }
    }

    // MARK: Arguments

    private func query(limit: Int?) throws -> FindQuery {
        FindQuery(try filter, sort: try sort, skip: int("skip") ?? 0, limit: limit == 0 ? nil : limit)
    }

    private var sort: Sort? {
        get throws { try arguments["sort"]?.documentValue.map { try Sort($0) } }
    }

    private var update: Update {
        get throws {
            let filters = try (arguments["arrayFilters"]?.arrayValue ?? []).map {
                try Self.document($0, "arrayFilters")
            }
            if action.contains("eplace") { return try Update(.document(try document("replacement", or: "update"))) }
            guard let value = arguments["update"] else { throw Self.missing("update", action) }
            return try Update(value, arrayFilters: filters)
        }
    }

    private func projected(_ document: Document) throws -> Document {
        guard let fields = arguments["projection"]?.documentValue ?? arguments["project"]?.documentValue,
            !fields.fields.isEmpty
        else { return document }
        throw EffectFailure(name: "MongoDBError", message: "projections are not supported", code: 115)
    }

    private func int(_ name: String) -> Int? {
        arguments[name]?.intValue ?? arguments[name]?.doubleValue.flatMap { Int(exactly: $0) }
    }

    private func flag(_ name: String) -> Bool { arguments[name]?.boolValue ?? false }

    private func text(_ name: String) throws -> String {
        guard let text = arguments[name]?.stringValue else { throw Self.missing(name, action) }
        return text
    }

    private func document(_ name: String, or other: String? = nil) throws -> Document {
        guard let value = arguments[name] ?? other.flatMap({ arguments[$0] }) else { throw Self.missing(name, action) }
        return try Self.document(value, name)
    }

    private func array(_ name: String) throws -> [Value] {
        guard let elements = arguments[name]?.arrayValue else { throw Self.missing(name, action) }
        return elements
    }

    private static func document(_ value: Value, _ name: String) throws -> Document {
        guard let document = value.documentValue else {
            throw EffectFailure(name: "MongoDBError", message: "\(name) must be a document", code: 14)
        }
        return document
    }

    private static func missing(_ name: String, _ action: String) -> EffectFailure {
        EffectFailure(name: "MongoDBError", message: "\(action) needs \(name)", code: 9)
    }

    // MARK: Answers

    private static func count(_ number: Int) -> Value { .int32(Int32(clamping: number)) }

    private static func answer(_ result: UpdateResult) -> Value {
        var answer: Document = ["matchedCount": count(result.matched), "modifiedCount": count(result.modified)]
        answer["upsertedId"] = result.upserted
        return .document(answer)
    }

    /// Ordered: ends at the first operation that fails.
    private func bulkWrite(on collection: DocumentCollection) async throws -> Value {
        var inserted = 0, deleted = 0
        var updated = UpdateResult()
        for operation in try array("operations") {
            guard let field = operation.documentValue?.fields.first, var call = field.value.documentValue else {
                throw EffectFailure(name: "MongoDBError", message: "an operation of bulkWrite is no document", code: 9)
            }
            call["database"] = arguments["database"]
            call["collection"] = arguments["collection"]
            let answer =
                try await DocumentCall(action: field.key, arguments: call).perform(on: collection).documentValue ?? [:]
            if answer["insertedId"] != nil { inserted += 1 }
            deleted += answer["deletedCount"]?.intValue ?? 0
            updated.matched += answer["matchedCount"]?.intValue ?? 0
            updated.modified += answer["modifiedCount"]?.intValue ?? 0
        }
        return .document([
            "insertedCount": Self.count(inserted), "matchedCount": Self.count(updated.matched),
            "modifiedCount": Self.count(updated.modified), "deletedCount": Self.count(deleted),
        ])
    }
}

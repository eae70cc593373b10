public import DocumentModel
public import DocumentStore
import FunctionProtocol

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
    public var filter: Document { arguments["filter"]?.documentValue ?? arguments["query"]?.documentValue ?? [:] }

    /// Carries the call out.
    /// - Throws: `DocumentStoreError`, `EffectFailure`.
    public func perform(on collection: DocumentCollection) async throws -> Value {
        switch action {
        case "find": return .array(try await collection.find(filter, options: findOptions).map { .document($0) })
        case "findOne": return Self.answer(try await collection.findOne(filter, options: findOptions))
        case "count", "countDocuments":
            return .int64(Int64(try await collection.countDocuments(filter, options: findOptions)))
        case "estimatedDocumentCount": return .int64(Int64(try await collection.estimatedDocumentCount()))
        case "distinct": return .array(try await collection.distinct(try text("field"), filter))
        case "insertOne": return .document(["insertedId": try await collection.insertOne(try document("document"))])
        case "insertMany":
            let documents = try array("documents").map { try Self.document($0, "documents") }
            return .document(["insertedIds": .array(try await collection.insertMany(documents))])
        case "updateOne":
            return Self.answer(try await collection.updateOne(filter, try update, options: try updateOptions))
        case "updateMany":
            return Self.answer(try await collection.updateMany(filter, try update, options: try updateOptions))
        case "replaceOne":
            return Self.answer(try await collection.replaceOne(filter, try replacement, upsert: flag("upsert")))
        case "deleteOne": return .document(["deletedCount": Self.count(try await collection.deleteOne(filter))])
        case "deleteMany": return .document(["deletedCount": Self.count(try await collection.deleteMany(filter))])
        case "findOneAndUpdate":
            return Self.answer(try await collection.findOneAndUpdate(filter, try update, options: try modifyOptions))
        case "findOneAndReplace":
            return Self.answer(
                try await collection.findOneAndReplace(filter, try replacement, options: try modifyOptions))
        case "findOneAndDelete":
            return Self.answer(try await collection.findOneAndDelete(filter, options: try modifyOptions))
        case "bulkWrite": return try await bulkWrite(on: collection)
        default: throw EffectFailure(name: "MongoDBError", message: "\(action) is not supported", code: 115)
        }
    }

    // MARK: Arguments

    private var projection: Document? { arguments["projection"]?.documentValue ?? arguments["project"]?.documentValue }

    private var findOptions: FindOptions {
        FindOptions(
            sort: arguments["sort"]?.documentValue, skip: int("skip") ?? 0, limit: int("limit"), projection: projection)
    }

    private var updateOptions: UpdateOptions {
        get throws { UpdateOptions(upsert: flag("upsert"), arrayFilters: try arrayFilters) }
    }

    private var modifyOptions: FindAndModifyOptions {
        get throws {
            FindAndModifyOptions(
                sort: arguments["sort"]?.documentValue, projection: projection, upsert: flag("upsert"),
                returnNew: flag("returnNewDocument"), arrayFilters: try arrayFilters)
        }
    }

    private var arrayFilters: [Document] {
        get throws { try (arguments["arrayFilters"]?.arrayValue ?? []).map { try Self.document($0, "arrayFilters") } }
    }

    /// Operators, or an aggregation pipeline.
    private var update: Value {
        get throws {
            guard let value = arguments["update"] else { throw Self.missing("update", action) }
            return value
        }
    }

    private var replacement: Document {
        get throws {
            guard let value = arguments["replacement"] ?? arguments["update"] else {
                throw Self.missing("replacement", action)
            }
            return try Self.document(value, "replacement")
        }
    }

    private func int(_ name: String) -> Int? {
        arguments[name]?.intValue ?? arguments[name]?.doubleValue.flatMap { Int(exactly: $0) }
    }

    private func flag(_ name: String) -> Bool { arguments[name]?.boolValue ?? false }

    private func text(_ name: String) throws -> String {
        guard let text = arguments[name]?.stringValue else { throw Self.missing(name, action) }
        return text
    }

    private func document(_ name: String) throws -> Document {
        guard let value = arguments[name] else { throw Self.missing(name, action) }
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

    private static func answer(_ document: Document?) -> Value { document.map { .document($0) } ?? .null }

    private static func answer(_ result: UpdateResult) -> Value {
        var answer: Document = [
            "matchedCount": count(result.matchedCount), "modifiedCount": count(result.modifiedCount),
        ]
        answer["upsertedId"] = result.upsertedId
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
            updated.matchedCount += answer["matchedCount"]?.intValue ?? 0
            updated.modifiedCount += answer["modifiedCount"]?.intValue ?? 0
        }
        return .document([
            "insertedCount": Self.count(inserted), "matchedCount": Self.count(updated.matchedCount),
            "modifiedCount": Self.count(updated.modifiedCount), "deletedCount": Self.count(deleted),
        ])
    }
}

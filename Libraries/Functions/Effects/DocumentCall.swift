public import AppDefinition
public import DocumentModel
import DocumentStore
public import FunctionProtocol
public import QueryLanguage

/// A call of a collection method by a function, a client, the data API or the command-line tool: the method's name and its
/// arguments, as in App Services.
public struct DocumentCall: Sendable {
    public let action: String
    public let namespace: ChangeEvent.Namespace
    /// The service that the call names, whose rules apply; `nil` for one that isn't made through a service.
    public let service: String?
    /// The session of the script that the call belongs to.
    public let session: Int64?
    private var arguments: Document
    /// The approximate limit of document bytes in an answer under rules.
    private(set) var answerBytes = 100 << 20

    /// - Throws: `EffectFailure` when the database or the collection is missing, or an argument is unknown or of a wrong type.
    public init(action: String, arguments: Document, service: String? = nil) throws(EffectFailure) {
        guard let database = arguments["database"]?.stringValue, let collection = arguments["collection"]?.stringValue
        else {
            throw EffectFailure(name: "MongoDBError", message: "\(action) needs a database and a collection", code: 2)
        }
        // No collection's name contains U+0000, so a decision can't depend on such a name either.
        guard !database.utf8.contains(0), !collection.utf8.contains(0) else {
            throw EffectFailure(name: "MongoDBError", message: "a namespace can't contain U+0000", code: 73)
        }
        try Self.checkTypes(of: arguments, action)
        self.action = action
        self.service = service
        self.arguments = arguments
        namespace = .init(database: database, collection: collection)
        session = arguments["session"]?.int64Value
    }

    /// Checks that the service is a document store of the app, and that it can reach the collection.
    /// - Throws: `EffectFailure` that names the service.
    public func checkService(in app: AppDefinition) throws(EffectFailure) {
        guard let service else { return }
        guard app.hasDocumentStore(service) else {
            throw EffectFailure(name: "ServiceNotFound", message: "service not found: '\(service)'")
        }
        guard let other = app.serviceBeyondReach(of: service, for: namespace) else { return }
        throw EffectFailure(
            name: "MongoDBError",
            message:
                "\(namespace.database).\(namespace.collection) belongs to the service '\(other)', and '\(service)' is of another cluster",
            code: 26)
    }

    /// All supported actions.
    public static let actions = reads.union([
        "insertOne", "insertMany", "updateOne", "updateMany", "replaceOne", "deleteOne", "deleteMany",
        "findOneAndUpdate",
        "findOneAndReplace", "findOneAndDelete", "bulkWrite",
    ])

    private static let reads: Set<String> = [
        "find", "findOne", "aggregate", "count", "countDocuments", "estimatedDocumentCount", "distinct", "explain",
    ]

    /// Whether the call may change documents.
    public var isWrite: Bool { !Self.reads.contains(action) }

    /// Whether the call changes documents, also by the last stage of a pipeline.
    public var changesDocuments: Bool {
        guard action == "aggregate" else { return isWrite }
        let stages = arguments["pipeline"]?.arrayValue?.compactMap(\.documentValue) ?? []
        return DocumentCollection.outputStage(of: stages) != nil
    }

    /// Whether the call writes one document at most, and reads nothing after it has.
    var writesOneDocument: Bool { isWrite && !action.hasSuffix("Many") && action != "bulkWrite" }

    /// Whether the answer is a document of the collection.
    var returnsDocument: Bool { action.hasPrefix("findOne") }

    /// The filter; empty when the call has none.
    public var filter: Document { arguments["filter"]?.documentValue ?? arguments["query"]?.documentValue ?? [:] }

    /// A filter that every document matches on which the answer of the call depends, in its collection and without a collation.
    /// - Throws: `QueryError`.
    public var dependencyFilter: Filter {
        // A change is compared by bytes and without variables.
        get throws { collation == nil && variables.isEmpty ? try Filter(filter) : .all }
    }

    /// The other collections of its database that the call reads, by stages that join.
    /// - Throws: `EffectFailure`, `QueryError`.
    public var foreignCollections: Set<ExactText> {
        get throws {
            guard hasPipeline else { return [] }
            let names = Set(variables.fields.map { ExactText($0.key) })
            return try Pipeline(try pipeline, variables: names).foreignCollections
        }
    }

    /// The ids of the documents whose changes a `watch` is to have; `nil` for all. Streams of changes aren't among ``actions``, whose
    /// calls have one answer.
    public var watchedIds: [Value]? { arguments["ids"]?.arrayValue }

    /// The `_id` of the change after which a `watch` is to begin; `nil` when it begins with the present. `startAfter` is the same here.
    public var watchedAfter: Document? {
        arguments["resumeAfter"]?.documentValue ?? arguments["startAfter"]?.documentValue
    }

    /// Whether the answer may change with time although no document has changed.
    public var asksForPresent: Bool { ExtendedJSON.print(.document(arguments)).contains("$$NOW") }

    /// Carries out the call, without rules.
    /// - Throws: `DocumentStoreError`, `BulkWriteError`, `EffectFailure`.
    func perform(on collection: DocumentCollection) async throws -> Value {
        switch action {
        case "find": return .array(try await collection.find(filter, options: findOptions).map { .document($0) })
        case "findOne": return Self.answer(try await collection.findOne(filter, options: findOptions))
        case "aggregate":
            return .array(
                try await collection.aggregate(try pipeline, options: aggregateOptions).map { .document($0) })
        case "explain": return .document(try await explain(collection))
        case "count", "countDocuments":
            return .int64(Int64(try await collection.countDocuments(filter, options: findOptions)))
        case "estimatedDocumentCount": return .int64(Int64(try await collection.estimatedDocumentCount()))
        case "distinct": return .array(try await collection.distinct(try field, filter, options: findOptions))
        case "insertOne": return .document(["insertedId": try await collection.insertOne(try document("document"))])
        case "insertMany":
            let documents = try array("documents").map { try Self.document($0, "documents") }
            try Self.checkIsBatch(documents.count)
            let ids = try await collection.insertMany(documents, ordered: flag("ordered", default: true))
            return .document(["insertedIds": .array(ids)])
        case "updateOne":
            return Self.answer(try await collection.updateOne(filter, try update, options: try updateOptions))
        case "updateMany":
            return Self.answer(try await collection.updateMany(filter, try update, options: try updateOptions))
        case "replaceOne":
            return Self.answer(
                try await collection.replaceOne(filter, try replacement, options: try updateOptions))
        case "deleteOne":
            return .document([
                "deletedCount": Self.count(try await collection.deleteOne(filter, options: deleteOptions))
            ])
        case "deleteMany":
            return .document([
                "deletedCount": Self.count(try await collection.deleteMany(filter, options: deleteOptions))
            ])
        case "findOneAndUpdate":
            return Self.answer(try await collection.findOneAndUpdate(filter, try update, options: try modifyOptions))
        case "findOneAndReplace":
            return Self.answer(
                try await collection.findOneAndReplace(filter, try replacement, options: try modifyOptions))
        case "findOneAndDelete":
            return Self.answer(try await collection.findOneAndDelete(filter, options: try modifyOptions))
        case "bulkWrite":
            return Self.answer(
                try await collection.bulkWrite(
                    try batch, ordered: flag("ordered", default: true), maxTimeMS: int("maxTimeMS")))
        default: throw Self.unsupported(action)
        }
    }

    /// The error for a method that doesn't exist here.
    static func unsupported(_ action: String) -> EffectFailure {
        EffectFailure(name: "MongoDBError", message: "\(action) is not supported", code: 115)
    }

    /// The call, limited to a time and to an approximate number of bytes in its answer.
    func limited(toMilliseconds milliseconds: Int, answerBytes: Int) -> DocumentCall {
        var call = self
        call.arguments["maxTimeMS"] = .integer(
            min(int("maxTimeMS").flatMap { $0 > 0 ? $0 : nil } ?? .max, milliseconds))
        call.answerBytes = answerBytes
        return call
    }

    // MARK: Under rules

    /// The call's `maxTimeMS`. The store's operations have this limit as well, but rules, and stages over visible documents, are
    /// evaluated outside of them.
    var timeLimit: TimeLimit { TimeLimit(int("maxTimeMS")) }

    /// The call without its projection, so that it answers with whole documents.
    var withoutProjection: DocumentCall {
        var call = self
        call.arguments["projection"] = nil
        call.arguments["project"] = nil
        return call
    }

    // MARK: Arguments

    var projection: Document? { arguments["projection"]?.documentValue ?? arguments["project"]?.documentValue }

    private var collation: Document? { arguments["collation"]?.documentValue }

    /// The variables that the call's expressions refer to as `$$name`.
    private var variables: Document { arguments["let"]?.documentValue ?? [:] }

    /// Refuses what isn't supported under data rules: variables of a query (`let`), and a `sort` that decides which document is
    /// written.
    func checkUnderRules() throws(EffectFailure) {
        var all = [arguments]
        for operation in arguments["operations"]?.arrayValue ?? [] {
            if let inner = operation.documentValue?.fields.first?.value.documentValue { all.append(inner) }
        }
        for arguments in all where !(arguments["let"]?.documentValue ?? [:]).isEmpty {
            throw EffectFailure(name: "MongoDBError", message: "let is not supported under data rules", code: 115)
        }
        let isChosen = isWrite && !returnsDocument
        for arguments in all where isChosen && !(arguments["sort"]?.documentValue ?? [:]).isEmpty {
            throw EffectFailure(
                name: "MongoDBError", message: "sort of \(action) is not supported under data rules", code: 115)
        }
    }

    var findOptions: FindOptions {
        FindOptions(
            sort: arguments["sort"]?.documentValue, skip: int("skip") ?? 0, limit: int("limit"),
            projection: projection, collation: collation, hint: arguments["hint"], maxTimeMS: int("maxTimeMS"),
            variables: variables)
    }

    var aggregateOptions: AggregateOptions {
        AggregateOptions(
            collation: collation, hint: arguments["hint"], maxTimeMS: int("maxTimeMS"), variables: variables)
    }

    private var deleteOptions: DeleteOptions {
        DeleteOptions(
            collation: collation, hint: arguments["hint"], maxTimeMS: int("maxTimeMS"), variables: variables)
    }

    private var updateOptions: UpdateOptions {
        get throws {
            UpdateOptions(
                upsert: flag("upsert"), arrayFilters: try arrayFilters(arguments),
                sort: arguments["sort"]?.documentValue, collation: collation, hint: arguments["hint"],
                maxTimeMS: int("maxTimeMS"), variables: variables)
        }
    }

    private var modifyOptions: FindAndModifyOptions {
        get throws {
            FindAndModifyOptions(
                sort: arguments["sort"]?.documentValue, projection: projection, upsert: flag("upsert"),
                returnNew: flag("returnNewDocument") || arguments["returnDocument"]?.stringValue == "after",
                arrayFilters: try arrayFilters(arguments), collation: collation, hint: arguments["hint"],
                maxTimeMS: int("maxTimeMS"), variables: variables)
        }
    }

    private func arrayFilters(_ arguments: Document) throws -> [Document] {
        try (arguments["arrayFilters"]?.arrayValue ?? []).map { try Self.document($0, "arrayFilters") }
    }

    /// Operators, or an aggregation pipeline. A document without operators says which fields to set: Atlas took it, and clients send it.
    private var update: Value {
        get throws {
            guard let value = arguments["update"] else { throw Self.missing("update", action) }
            guard let document = value.documentValue, !document.fields.isEmpty,
                !document.fields.contains(where: { $0.key.startsWithBytes(of: "$") })
            else { return value }
            return ["$set": value]
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

    /// The stages of an aggregation.
    var pipeline: [Document] {
        get throws { try array("pipeline").map { try Self.document($0, "pipeline") } }
    }

    /// Whether the call has a pipeline; `explain` takes a pipeline or a filter.
    var hasPipeline: Bool { arguments["pipeline"] != nil }

    /// Explains a `find` with the same arguments, or the aggregation when there is a pipeline.
    private func explain(_ collection: DocumentCollection) async throws -> Document {
        hasPipeline
            ? try await collection.explainAggregate(try pipeline, options: aggregateOptions)
            : try await collection.explain(filter, options: findOptions)
    }

    /// The path of `distinct`.
    var field: String {
        get throws {
            guard let text = arguments["field"]?.stringValue else { throw Self.missing("field", action) }
            return text
        }
    }

    private func int(_ name: String) -> Int? {
        arguments[name]?.intValue ?? arguments[name]?.doubleValue.flatMap { Int(exactly: $0.rounded(.towardZero)) }
    }

    private func flag(_ name: String, default fallback: Bool = false) -> Bool {
        arguments[name]?.boolValue ?? fallback
    }

    private func document(_ name: String) throws -> Document {
        guard let value = arguments[name] else { throw Self.missing(name, action) }
        return try Self.document(value, name)
    }

    private func array(_ name: String) throws(EffectFailure) -> [Value] {
        guard let elements = arguments[name]?.arrayValue else { throw Self.missing(name, action) }
        return elements
    }

    private static func document(_ value: Value, _ name: String) throws -> Document {
        guard let document = value.documentValue else {
            throw EffectFailure(name: "MongoDBError", message: "\(name) must be a document", code: 14)
        }
        return document
    }

    static func missing(_ name: String, _ action: String) -> EffectFailure {
        EffectFailure(name: "MongoDBError", message: "\(action) needs \(name)", code: 9)
    }

    private static func checkIsBatch(_ count: Int) throws {
        if count == 0 {
            throw EffectFailure(
                name: "MongoDBError", message: "Invalid BulkOperation, Batch cannot be empty", code: 2)
        }
    }

    private var batch: [WriteModel] {
        get throws {
            let writes = try writes
            try Self.checkIsBatch(writes.count)
            return writes
        }
    }

    /// The operations of a `bulkWrite`.
    private var writes: [WriteModel] {
        get throws {
            try array("operations").map { value in
                guard let field = value.documentValue?.fields.first, var operation = field.value.documentValue else {
                    throw EffectFailure(
                        name: "MongoDBError", message: "an operation of bulkWrite must be a document", code: 9)
                }
                if field.key != "insertOne", operation["let"] == nil { operation["let"] = arguments["let"] }
                operation["database"] = .string(namespace.database)
                operation["collection"] = .string(namespace.collection)
                let call = try DocumentCall(action: field.key, arguments: operation)
                switch field.key {
                case "insertOne": return .insertOne(try call.document("document"))
                case "updateOne":
                    return .updateOne(filter: call.filter, update: try call.update, options: try call.updateOptions)
                case "updateMany":
                    return .updateMany(filter: call.filter, update: try call.update, options: try call.updateOptions)
                case "replaceOne":
                    return .replaceOne(
                        filter: call.filter, replacement: try call.replacement, options: try call.updateOptions)
                case "deleteOne": return .deleteOne(filter: call.filter, options: call.deleteOptions)
                case "deleteMany": return .deleteMany(filter: call.filter, options: call.deleteOptions)
                default: throw Self.unsupported(field.key)
                }
            }
        }
    }
}

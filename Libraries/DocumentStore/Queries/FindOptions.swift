public import DocumentModel

/// What a `find` returns of the matching documents, and in which order.
public struct FindOptions: Sendable {
    /// `{path: 1}`; `nil` for the natural order, in which documents were inserted, regardless of later updates.
    public var sort: Document?
    /// The order if there is no sort; `{$natural: -1}` as a sort or a hint reverses it.
    public var natural: NaturalOrder
    /// Whether it matters which document comes first.
    package var isOrdered = true
    public var skip: Int
    /// The most documents that are returned; `nil` or 0 for all.
    public var limit: Int?
    public var projection: Document?
    /// How strings are compared, as MongoDB's collation document.
    public var collation: Document?
    /// The only index to use, by its name or its keys; `$natural` for none.
    public var hint: Value?
    /// After how many milliseconds the operation fails with MongoDB's code 50; `nil` or 0: the server's own limit.
    public var maxTimeMS: Int?
    /// The variables that expressions use as `$$name`: MongoDB's `let`. Their values are expressions that can't refer to a
    /// document.
    public var variables: Document

    public init(
        sort: Document? = nil, skip: Int = 0, limit: Int? = nil, projection: Document? = nil,
        collation: Document? = nil, hint: Value? = nil, maxTimeMS: Int? = nil, variables: Document = [:]
    ) {
        self.variables = variables
        var sort = sort
        natural = .taken(from: &sort, hint: hint)
        self.sort = sort
        // The sum of `skip` and `limit` must not overflow.
        self.skip = min(max(skip, 0), .max / 2)
        self.limit = limit.flatMap { $0 == 0 ? nil : Int(min($0.magnitude, UInt(Int.max / 2))) }
        self.projection = projection
        self.collation = collation
        self.hint = hint
        self.maxTimeMS = maxTimeMS
    }
}

/// The options that all writes with a filter share.
protocol SelectionOptions: Sendable {
    var sort: Document? { get }
    var collation: Document? { get }
    var hint: Value? { get }
    var natural: NaturalOrder { get }
    var variables: Document { get }
}

extension UpdateOptions: SelectionOptions {}
extension FindAndModifyOptions: SelectionOptions {}
extension DeleteOptions: SelectionOptions {
    var sort: Document? { nil }
    var natural: NaturalOrder { NaturalOrder(hint?.documentValue) ?? .forward }
}

/// The options of an update.
public struct UpdateOptions: Sendable {
    /// Whether to insert a document if none matches.
    public var upsert: Bool
    /// The filters that `$[name]` refers to.
    public var arrayFilters: [Document]
    /// The order that decides which matching document is the first; used only by `updateOne` and `replaceOne`.
    public var sort: Document?
    /// As in ``FindOptions``.
    public var natural: NaturalOrder
    public var collation: Document?
    /// As in ``FindOptions``.
    public var variables: Document
    /// As in ``FindOptions``.
    public var hint: Value?
    /// As in ``FindOptions``; a `bulkWrite` uses its own limit instead.
    public var maxTimeMS: Int?

    public init(
        upsert: Bool = false, arrayFilters: [Document] = [], sort: Document? = nil, collation: Document? = nil,
        hint: Value? = nil, maxTimeMS: Int? = nil, variables: Document = [:]
    ) {
        var sort = sort
        natural = .taken(from: &sort, hint: hint)
        self.sort = sort
        self.variables = variables
        self.upsert = upsert
        self.arrayFilters = arrayFilters
        self.collation = collation
        self.hint = hint
        self.maxTimeMS = maxTimeMS
    }
}

/// How documents to delete are selected.
public struct DeleteOptions: Sendable {
    public var collation: Document?
    /// As in ``FindOptions``.
    public var hint: Value?
    /// As in ``UpdateOptions``.
    public var maxTimeMS: Int?
    /// As in ``FindOptions``.
    public var variables: Document
    /// The origin that the change events name.
    public var origin: ChangeEvent.Origin?

    public init(
        collation: Document? = nil, hint: Value? = nil, maxTimeMS: Int? = nil, variables: Document = [:],
        origin: ChangeEvent.Origin? = nil
    ) {
        self.variables = variables
        self.collation = collation
        self.hint = hint
        self.maxTimeMS = maxTimeMS
        self.origin = origin
    }
}

/// How a `findOneAnd…` selects its document, and what it returns.
public struct FindAndModifyOptions: Sendable {
    public var sort: Document?
    /// As in ``FindOptions``.
    public var natural: NaturalOrder
    public var projection: Document?
    public var upsert: Bool
    /// Whether to return the document as it is afterwards, not as it was before.
    public var returnNew: Bool
    public var arrayFilters: [Document]
    public var collation: Document?
    /// As in ``FindOptions``.
    public var hint: Value?
    /// As in ``FindOptions``.
    public var maxTimeMS: Int?
    /// As in ``FindOptions``.
    public var variables: Document

    public init(
        sort: Document? = nil, projection: Document? = nil, upsert: Bool = false, returnNew: Bool = false,
        arrayFilters: [Document] = [], collation: Document? = nil, hint: Value? = nil, maxTimeMS: Int? = nil,
        variables: Document = [:]
    ) {
        var sort = sort
        natural = .taken(from: &sort, hint: hint)
        self.sort = sort
        self.variables = variables
        self.projection = projection
        self.upsert = upsert
        self.returnNew = returnNew
        self.arrayFilters = arrayFilters
        self.collation = collation
        self.hint = hint
        self.maxTimeMS = maxTimeMS
    }
}

/// The result of an update.
public struct UpdateResult: Sendable {
    public var matchedCount: Int
    /// The number of documents that changed.
    public var modifiedCount: Int
    /// The `_id` of the document that an upsert inserted.
    public var upsertedId: Value?

    public init(matchedCount: Int = 0, modifiedCount: Int = 0, upsertedId: Value? = nil) {
        self.matchedCount = matchedCount
        self.modifiedCount = modifiedCount
        self.upsertedId = upsertedId
    }
}

/// One write of a `bulkWrite`.
public enum WriteModel: Sendable {
    case insertOne(Document)
    case updateOne(filter: Document, update: Value, options: UpdateOptions = UpdateOptions())
    case updateMany(filter: Document, update: Value, options: UpdateOptions = UpdateOptions())
    case replaceOne(filter: Document, replacement: Document, options: UpdateOptions = UpdateOptions())
    case deleteOne(filter: Document, options: DeleteOptions = DeleteOptions())
    case deleteMany(filter: Document, options: DeleteOptions = DeleteOptions())
}

/// The result of a `bulkWrite`.
public struct BulkWriteResult: Sendable {
    public var insertedCount = 0
    public var matchedCount = 0
    public var modifiedCount = 0
    public var deletedCount = 0
    /// By the write's place in the call.
    public var insertedIds: [Int: Value] = [:]
    /// By the write's place in the call.
    public var upsertedIds: [Int: Value] = [:]

    public init() {}
}

/// Writes of an `insertMany` or `bulkWrite` that failed; the others are done.
public struct BulkWriteError: Error, Sendable, CustomStringConvertible {
    /// The result of the writes that succeeded.
    public var result: BulkWriteResult
    /// The errors by the write's place; only one if the writes were ordered.
    public var failures: [Int: DocumentStoreError]

    public var description: String {
        let first = failures.min { $0.key < $1.key }
        return "BulkWriteError: \(failures.count) failed, first \(first.map { "\($0.key): \($0.value)" } ?? "none")"
    }
}

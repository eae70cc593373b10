public import DocumentModel

/// What a `find` returns of the matching documents, and in which order.
public struct FindOptions: Sendable {
    /// `{path: 1}`; `nil` for the natural order: that in which documents were inserted, whatever became of them since.
    public var sort: Document?
    /// Where there is no sort; `{$natural: -1}` as a sort or a hint reverses it.
    public var natural: NaturalOrder
    /// Whether it matters which document comes first.
    package var isOrdered = true
    public var skip: Int
    /// `nil` or 0: all.
    public var limit: Int?
    public var projection: Document?
    /// How strings compare, as MongoDB's collation document says.
    public var collation: Document?
    /// The only index to use, by its name or its keys; `$natural` for none.
    public var hint: Value?
    /// After how many milliseconds the operation fails with MongoDB's code 50; `nil` or 0: the server's own limit.
    public var maxTimeMS: Int?
    /// What expressions know as `$$name`: MongoDB's `let`. Its values are expressions that know no document.
    public var variables: Document

    public init(
        sort: Document? = nil, skip: Int = 0, limit: Int? = nil, projection: Document? = nil,
        collation: Document? = nil, hint: Value? = nil, maxTimeMS: Int? = nil, variables: Document = [:]
    ) {
        self.variables = variables
        var sort = sort
        natural = .taken(from: &sort, hint: hint)
        self.sort = sort
        // Their sum is a number too.
        self.skip = min(max(skip, 0), .max / 2)
        self.limit = limit.flatMap { $0 == 0 ? nil : Int(min($0.magnitude, UInt(Int.max / 2))) }
        self.projection = projection
        self.collation = collation
        self.hint = hint
        self.maxTimeMS = maxTimeMS
    }
}

/// What all options of writes have that look for documents.
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

/// How an update is made.
public struct UpdateOptions: Sendable {
    /// Insert a document where none matches.
    public var upsert: Bool
    /// What `$[name]` stands for.
    public var arrayFilters: [Document]
    /// Which of the documents that match is the first; means something to `updateOne` and `replaceOne` only.
    public var sort: Document?
    /// As in ``FindOptions``.
    public var natural: NaturalOrder
    public var collation: Document?
    /// As in ``FindOptions``.
    public var variables: Document
    /// As in ``FindOptions``.
    public var hint: Value?
    /// As in ``FindOptions``; in a `bulkWrite` that of the whole holds.
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

/// How what is deleted is looked for.
public struct DeleteOptions: Sendable {
    public var collation: Document?
    /// As in ``FindOptions``.
    public var hint: Value?
    /// As in ``UpdateOptions``.
    public var maxTimeMS: Int?
    /// As in ``FindOptions``.
    public var variables: Document

    public init(
        collation: Document? = nil, hint: Value? = nil, maxTimeMS: Int? = nil, variables: Document = [:]
    ) {
        self.variables = variables
        self.collation = collation
        self.hint = hint
        self.maxTimeMS = maxTimeMS
    }
}

/// How a `findOneAnd…` chooses and answers.
public struct FindAndModifyOptions: Sendable {
    public var sort: Document?
    /// As in ``FindOptions``.
    public var natural: NaturalOrder
    public var projection: Document?
    public var upsert: Bool
    /// Return the document as it is afterwards, not as it was.
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

/// What an update did.
public struct UpdateResult: Sendable {
    public var matchedCount: Int
    /// Documents that are other than before.
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

/// What a `bulkWrite` did.
public struct BulkWriteResult: Sendable {
    public var insertedCount = 0
    public var matchedCount = 0
    public var modifiedCount = 0
    public var deletedCount = 0
    /// By the write's place.
    public var insertedIds: [Int: Value] = [:]
    /// By the write's place.
    public var upsertedIds: [Int: Value] = [:]

    public init() {}
}

/// Writes of an `insertMany` or `bulkWrite` that failed; the others are done.
public struct BulkWriteError: Error, Sendable, CustomStringConvertible {
    /// What was done.
    public var result: BulkWriteResult
    /// By the write's place; one, where the writes were ordered.
    public var failures: [Int: DocumentStoreError]

    public var description: String {
        let first = failures.min { $0.key < $1.key }
        return "BulkWriteError: \(failures.count) failed, first \(first.map { "\($0.key): \($0.value)" } ?? "none")"
    }
}

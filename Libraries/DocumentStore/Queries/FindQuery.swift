public import DocumentModel
public import QueryLanguage

/// What to look for, and what to give of it.
public struct FindQuery: Sendable {
    public var filter: Filter
    public var sort: Sort?
    public var skip: Int
    /// `nil` gives all.
    public var limit: Int?

    public init(_ filter: Filter = .all, sort: Sort? = nil, skip: Int = 0, limit: Int? = nil) {
        self.filter = filter
        self.sort = sort
        self.skip = skip
        self.limit = limit
    }
}

/// How many documents a write met.
public struct UpdateResult: Hashable, Sendable {
    public var matched: Int
    public var modified: Int
    /// The `_id` of a document that an upsert inserted.
    public var upserted: Value?

    public init(matched: Int = 0, modified: Int = 0, upserted: Value? = nil) {
        self.matched = matched
        self.modified = modified
        self.upserted = upserted
    }
}

/// Which form of a document an operation returns that finds one and changes it.
public enum ReturnedDocument: Sendable { case before, after }

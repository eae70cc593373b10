public import DocumentModel

/// How an aggregation reads.
public struct AggregateOptions: Sendable {
    public var collation: Document?
    /// As in ``FindOptions``.
    public var hint: Value?
    /// As in ``FindOptions``.
    public var maxTimeMS: Int?

    public init(collation: Document? = nil, hint: Value? = nil, maxTimeMS: Int? = nil) {
        self.collation = collation
        self.hint = hint
        self.maxTimeMS = maxTimeMS
    }
}

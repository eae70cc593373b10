public import DocumentModel

/// How an aggregation reads.
public struct AggregateOptions: Sendable {
    public var collation: Document?
    /// As in ``FindOptions``.
    public var hint: Value?
    /// As in ``FindOptions``.
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

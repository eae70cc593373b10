import DocumentModel

/// An aggregation expression, parsed once and evaluated for many documents.
public struct Expression: Sendable {
    /// Parses an expression.
    public init(_ value: Value) throws(QueryError) { throw .notSupported("$expr") }

    /// The value for a document, `nil` for what is missing.
    public func evaluate(_ context: EvaluationContext) throws(QueryError) -> Value? { nil }
}

import DocumentModel

/// A schema of `$jsonSchema`: draft 4 with MongoDB's `bsonType`.
public struct JSONSchema: Sendable {
    /// Parses a schema.
    public init(_ document: Document) throws(QueryError) { throw .notSupported("$jsonSchema") }

    /// Whether a value is allowed.
    public func accepts(_ value: Value) throws(QueryError) -> Bool { false }
}

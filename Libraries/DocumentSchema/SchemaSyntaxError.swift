public import DocumentModel

/// What is wrong with a schema.
public struct SchemaSyntaxError: Error, Sendable, CustomStringConvertible {
    /// One mistake.
    public struct Issue: Sendable {
        /// JSON pointer inside the schema.
        public let pointer: String
        /// What is wrong, for who sees the pointer.
        public let message: String
        /// Whether it asks for a type that documents can't have, or that isn't served.
        public let isUnsupportedType: Bool
        /// As MongoDB says it of `$jsonSchema`.
        public let queryError: QueryError
    }

    /// At least one, in the order of the schema's text.
    public let issues: [Issue]

    public var description: String {
        issues.map { "\($0.pointer.isEmpty ? "/" : $0.pointer): \($0.message)" }.joined(separator: "; ")
    }
}

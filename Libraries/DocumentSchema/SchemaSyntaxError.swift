public import DocumentModel

/// The mistakes in a schema.
public struct SchemaSyntaxError: Error, Sendable, CustomStringConvertible {
    /// One mistake.
    public struct Issue: Sendable {
        /// The JSON pointer in the schema.
        public let pointer: String
        /// A readable message, to be shown with the pointer.
        public let message: String
        /// Whether the schema requires a type that documents can't have or that isn't supported.
        public let isUnsupportedType: Bool
        /// Whether it is a keyword that schemas don't have.
        public let isUnknownKeyword: Bool
        /// The error that MongoDB gives for `$jsonSchema`.
        public let queryError: QueryError
    }

    /// The mistakes in the order of the schema's text; at least one.
    public let issues: [Issue]

    public var description: String {
        issues.map { "\($0.pointer.isEmpty ? "/" : $0.pointer): \($0.message)" }.joined(separator: "; ")
    }
}

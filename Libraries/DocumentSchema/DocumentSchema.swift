public import DocumentModel

/// A schema of documents: JSON Schema draft 4 with MongoDB's `bsonType`.
///
/// Keywords: `bsonType` `type` `enum` `properties` `patternProperties` `additionalProperties` `required` `dependencies` `minProperties`
/// `maxProperties` `items` `additionalItems` `minItems` `maxItems` `uniqueItems` `minimum` `maximum` `exclusiveMinimum`
/// `exclusiveMaximum` `multipleOf` `minLength` `maxLength` `pattern` `allOf` `anyOf` `oneOf` `not`.
public struct DocumentSchema: Sendable {
    /// The purpose of the schema: both dialects have the same keywords, and differ as described here.
    public enum Dialect: Sendable {
        /// A collection's `schema.json`, as App Services reads it. A number has every number type that can represent it; a field
        /// that isn't required may be null; `_id` need not be declared; annotations of any draft are allowed.
        case collection
        /// `$jsonSchema` of a query, as MongoDB reads it: types are exact.
        case query
    }

    /// A place at which a value violates the schema.
    public struct Violation: Hashable, Sendable, CustomStringConvertible {
        /// The dotted path; empty for the value itself.
        @ExactText public private(set) var path: String
        /// A readable message.
        @ExactText public private(set) var message: String

        init(path: String, message: String) {
            self.path = path
            self.message = message
        }

        public var description: String { path.isEmpty ? message : "\(path): \(message)" }
    }

    /// The schema as it was written.
    public let source: Document
    let dialect: Dialect
    let root: SchemaNode

    /// Reads a schema.
    /// - Throws: `SchemaSyntaxError` with everything that is wrong in it.
    public init(_ source: Document, dialect: Dialect) throws(SchemaSyntaxError) {
        var parser = SchemaParser(dialect: dialect)
        let root = parser.node(.document(source), "$jsonSchema", at: "")
        guard parser.issues.isEmpty else { throw SchemaSyntaxError(issues: parser.issues) }
        self.source = source
        self.dialect = dialect
        self.root = root
    }

    /// Whether a value is valid by the schema.
    /// - Throws: if a pattern can't be matched within its limits.
    public func accepts(_ value: Value) throws(QueryError) -> Bool { try violations(in: value, limit: 1).isEmpty }

    /// The places at which a value violates the schema; empty if it is valid.
    /// - Parameter limit: the most violations that are collected, so that checking a hostile document doesn't cost more than
    ///   reading it.
    /// - Throws: if a pattern can't be matched within its limits.
    public func violations(in value: Value, limit: Int = 20) throws(QueryError) -> [Violation] {
        var check = SchemaCheck(dialect: dialect, limit: limit)
        try check.check(value, root, at: "")
        return check.violations
    }

    /// The violation that keeps a document from being stored; `nil` if there is none. A document with which a pattern can't be
    /// matched within its limits counts as invalid.
    public func firstViolation(in document: Document) -> Violation? {
        do throws(QueryError) {
            return try violations(in: .document(document), limit: 1).first
        } catch {
            return Violation(path: "", message: error.message)
        }
    }

    // MARK: What it declares

    /// The names of the declared top-level fields, in their order.
    public var fieldNames: [String] { root.properties.map(\.name) }

    /// The types that the schema allows at a path (array elements by any index); `nil` if it doesn't restrict them.
    public func types(at path: [String]) -> Set<BSONType>? {
        var node = root
        for key in path {
            if let property = node.property(key) {
                node = property
            } else if let items = node.items, Int(key) != nil || key.hasPrefix("$") {
                node = items
            } else {
                return nil
            }
        }
        return node.types
    }
}

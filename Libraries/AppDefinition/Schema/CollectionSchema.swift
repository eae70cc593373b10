public import DocumentModel

/// The schema of a collection's documents (`schema.json`): JSON Schema draft 4 with `bsonType`, as MongoDB defines it.
///
/// Supported: `bsonType` `type` `properties` `required` `additionalProperties` `items` `enum` `minimum` `maximum`
/// `exclusiveMinimum` `exclusiveMaximum` `multipleOf` `minLength` `maxLength` `pattern` `minItems` `maxItems` `uniqueItems`
/// `minProperties` `maxProperties` `allOf` `anyOf` `oneOf` `not`.
public struct CollectionSchema: Sendable {
    /// The schema as it was written.
    public let source: Document
    /// `title`, the name of the class on devices; empty where there is none.
    public let title: String
    let root: SchemaNode

    init(source: Document, root: SchemaNode) {
        self.source = source
        self.root = root
        title = if case .string(let title)? = source["title"] { title } else { "" }
    }

    /// Reads a schema.
    ///
    /// - Throws: `SchemaSyntaxError` with everything that is wrong in it.
    public init(_ source: Document) throws(SchemaSyntaxError) {
        var parser = SchemaParser()
        let root = parser.node(.document(source), at: "")
        guard parser.issues.isEmpty else { throw SchemaSyntaxError(issues: parser.issues) }
        self.init(source: source, root: root)
    }

    /// Whether it declares anything at all: exports contain `{}` for collections without a schema.
    public var isEmpty: Bool { source.fields.isEmpty }

    /// What keeps a document from being valid; empty when it is. At most 20 are reported.
    public func validate(_ document: Document) -> [SchemaViolation] {
        var validator = SchemaValidator()
        validator.validate(.document(document), root, at: "")
        return validator.violations
    }

    /// The types that the schema allows at a path (array elements by any index), or `nil` where it says nothing.
    public func types(at path: [String]) -> Set<BSONType>? {
        var node = root
        for key in path {
            if let property = node.properties[key] {
                node = property
            } else if let items = node.items.first, Int(key) != nil || key.hasPrefix("$") {
                node = items
            } else {
                return nil
            }
        }
        return node.types
    }

    /// The names of the declared top-level fields, in their order.
    public var fieldNames: [String] {
        if case .document(let properties)? = source["properties"] { properties.fields.map(\.key) } else { [] }
    }

    /// The names of the top-level fields that must be there.
    public var requiredFields: [String] { root.required }
}

/// A place where a document breaks its schema.
public struct SchemaViolation: Hashable, Sendable, CustomStringConvertible {
    /// Dotted path; empty for the document itself.
    public var path: String
    public var message: String

    public var description: String { path.isEmpty ? message : "\(path): \(message)" }
}

/// What is wrong with a schema.
public struct SchemaSyntaxError: Error, Sendable, CustomStringConvertible {
    /// One mistake.
    public struct Issue: Hashable, Sendable {
        public var code: DefinitionProblem.Code
        /// JSON pointer inside the schema.
        public var pointer: String
        public var message: String
    }

    public let issues: [Issue]

    public var description: String {
        issues.map { "\($0.pointer.isEmpty ? "/" : $0.pointer): \($0.message)" }.joined(separator: "; ")
    }
}

/// One level of a schema.
struct SchemaNode: Sendable {
    enum AdditionalProperties: Sendable {
        case allowed, forbidden
        /// One schema, in an array because a struct can't hold itself.
        case matching([SchemaNode])
    }

    /// `nil`: any type.
    var types: Set<BSONType>?
    var properties: [ExactText: SchemaNode] = [:]
    var required: [String] = []
    var additionalProperties = AdditionalProperties.allowed
    /// None or one: the schema of each element.
    var items: [SchemaNode] = []
    var enumeration: [Value]?
    var minimum: Value?
    var maximum: Value?
    var isMinimumExclusive = false
    var isMaximumExclusive = false
    var multipleOf: Double?
    var length: (min: Int?, max: Int?) = (nil, nil)
    var itemCount: (min: Int?, max: Int?) = (nil, nil)
    var propertyCount: (min: Int?, max: Int?) = (nil, nil)
    var hasUniqueItems = false
    var pattern: SchemaPattern?
    var allOf: [SchemaNode] = []
    var anyOf: [SchemaNode] = []
    var oneOf: [SchemaNode] = []
    /// None or one.
    var not: [SchemaNode] = []
}

import DocumentModel

/// A schema of `$jsonSchema`: JSON Schema draft 4 with MongoDB's `bsonType`.
public struct JSONSchema: Sendable {
    /// Why a value is not allowed.
    public struct Violation: Error, Hashable, Sendable {
        /// The dotted path of the value that broke the rule; empty for the whole.
        public let path: String
        /// The keyword of the rule, such as `required`.
        public let keyword: String
        /// What is wrong, for people.
        public let message: String
    }

    let rules: [SchemaRule]

    /// Parses a schema. Keywords that are unknown or not supported are refused by name.
    public init(_ document: Document) throws(QueryError) {
        var parser = SchemaParser()
        self = try parser.parse(document)
    }

    init(rules: [SchemaRule]) { self.rules = rules }

    /// Whether a value is allowed.
    public func accepts(_ value: Value) throws(QueryError) -> Bool { try violation(in: value) == nil }

    /// The first rule that a value breaks, or `nil`.
    public func violation(in value: Value) throws(QueryError) -> Violation? {
        try SchemaCheck.violation(of: self, value, "")
    }
}

/// One keyword of a schema.
indirect enum SchemaRule: Sendable {
    case types(Set<UInt8>)
    case enumeration([Value])
    case properties([ExactText: JSONSchema], patterns: [(any CompiledRegex, JSONSchema)], additional: Additional)
    case required([String])
    case propertyCount(ClosedRange<Int>)
    case dependencies([(String, Dependency)])
    case items(JSONSchema)
    case tuple([JSONSchema], additional: Additional)
    case itemCount(ClosedRange<Int>)
    case uniqueItems
    case minimum(Value, isExclusive: Bool)
    case maximum(Value, isExclusive: Bool)
    case multipleOf(Value)
    case length(ClosedRange<Int>)
    case pattern(any CompiledRegex, String)
    case allOf([JSONSchema])
    case anyOf([JSONSchema])
    case oneOf([JSONSchema])
    case not(JSONSchema)

    enum Additional: Sendable {
        case allowed
        case forbidden
        case schema(JSONSchema)
    }

    enum Dependency: Sendable {
        case fields([String])
        case schema(JSONSchema)
    }
}

import DocumentModel
import RegularExpressions

/// One level of a schema: the rules of its keywords.
struct SchemaNode: Sendable {
    /// The rules in the order of their checks, regardless of the order in which they were written.
    var rules: [SchemaRule] = []

    var properties: [SchemaRule.Property] {
        rules.lazy.compactMap { if case .fields(let fields) = $0 { fields.properties } else { nil } }.first ?? []
    }

    func property(_ name: String) -> SchemaNode? {
        rules.lazy.compactMap { if case .fields(let fields) = $0 { fields.byName[name] } else { nil } }.first
    }

    /// The schema of all elements, if there is a single one.
    var items: SchemaNode? {
        rules.lazy.compactMap { if case .items(let items) = $0 { items } else { nil } }.first
    }

    var types: Set<BSONType>? {
        rules.lazy.compactMap { if case .types(let types) = $0 { types } else { nil } }.first
    }
}

/// The rule of one keyword, or of several that belong together.
indirect enum SchemaRule: Sendable {
    /// The types in a collection's schema.
    case types(Set<BSONType>)
    /// The types in a query's schema.
    case exactTypes(TypeSet)
    /// The allowed values, and the same as a set for fast lookup, since there may be many.
    case enumeration([Value], Set<Value>)
    case fields(Fields)
    case fieldCount(ClosedRange<Int>)
    case dependencies([(name: String, Dependency)])
    case items(SchemaNode)
    case tuple([SchemaNode], additional: Additional)
    case itemCount(ClosedRange<Int>)
    case uniqueItems
    case length(ClosedRange<Int>)
    case pattern(Pattern)
    case minimum(Value, isExclusive: Bool)
    case maximum(Value, isExclusive: Bool)
    case multipleOf(Value)
    case allOf([SchemaNode])
    case anyOf([SchemaNode])
    case oneOf([SchemaNode])
    case not(SchemaNode)

    /// `properties`, `patternProperties`, `additionalProperties` and `required`.
    struct Fields: Sendable {
        var properties: [Property] = []
        var byName: [ExactText: SchemaNode] = [:]
        var patterns: [(Pattern, SchemaNode)] = []
        var additional = Additional.allowed
        var required: [String] = []
    }

    struct Property: Sendable {
        var name: String
        var node: SchemaNode
    }

    struct Pattern: Sendable {
        var source: String
        var compiled: any CompiledRegex
    }

    enum Additional: Sendable {
        case allowed
        case forbidden
        case matching(SchemaNode)
    }

    enum Dependency: Sendable {
        case fields([String])
        case node(SchemaNode)
    }

    /// The position of the rule in the order of checks.
    var rank: Int {
        switch self {
        case .types, .exactTypes: 0
        case .enumeration: 1
        case .fields: 2
        case .dependencies: 3
        case .fieldCount, .itemCount, .length: 4
        case .items, .tuple, .pattern, .minimum: 5
        case .uniqueItems, .maximum: 6
        case .multipleOf: 7
        case .allOf: 8
        case .anyOf: 9
        case .oneOf: 10
        case .not: 11
        }
    }
}

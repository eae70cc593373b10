import DocumentModel
import RegularExpressions

/// Parses a schema into its tree, and collects everything that is wrong in it.
struct SchemaParser {
    let dialect: DocumentSchema.Dialect
    private(set) var issues: [SchemaSyntaxError.Issue] = []
    private var depth = 0
    private var count = 0

    /// The most schemas in a query's schema. It is compared with each document, so a larger one could be sent only to cause load.
    private static let queryLimit = 2000
    /// The deepest nesting, which is MongoDB's limit.
    private static let depthLimit = 100
    /// Keywords that don't affect validity.
    private static let annotations: Set<String> = ["title", "description"]
    /// Annotations that MongoDB refuses but that are common in exports.
    private static let otherAnnotations: Set<String> = ["$schema", "default", "examples", "$id", "id"]
    private static let unsupported: Set<String> = ["$ref", "$schema", "default", "definitions", "format", "id"]
    private static let fieldKeywords: Set<String> = [
        "properties", "patternProperties", "additionalProperties", "required",
    ]

    init(dialect: DocumentSchema.Dialect) { self.dialect = dialect }

    // MARK: Issues

    private enum Fault {
        case failedToParse, typeMismatch, badValue
    }

    /// - Parameters:
    ///   - message: the rest of the sentence after the keyword's name.
    private mutating func issue(_ fault: Fault, _ keyword: String, _ message: String, at pointer: String) {
        issue(fault, message, at: pointer, query: "$jsonSchema keyword '\(keyword)' \(message)")
    }

    private mutating func issue(
        _ fault: Fault, _ message: String, at pointer: String, query: String, isUnknownKeyword: Bool = false
    ) {
        let error: QueryError =
            switch fault {
            case .failedToParse: .failedToParse(query)
            case .typeMismatch: .typeMismatch(query)
            case .badValue: .badValue(query)
            }
        issues.append(
            .init(
                pointer: pointer, message: message, isUnsupportedType: false, isUnknownKeyword: isUnknownKeyword,
                queryError: error))
    }

    private mutating func issue(_ error: QueryError, at pointer: String, isUnsupportedType: Bool = false) {
        issues.append(
            .init(
                pointer: pointer, message: error.message, isUnsupportedType: isUnsupportedType,
                isUnknownKeyword: false, queryError: error))
    }

    // MARK: Nodes

    mutating func node(_ value: Value, _ keyword: String, at pointer: String) -> SchemaNode {
        depth += 1
        defer { depth -= 1 }
        guard depth <= Self.depthLimit else {
            issue(
                .failedToParse, "is nested deeper than \(Self.depthLimit) levels", at: pointer,
                query: "$jsonSchema is nested too deeply")
            return SchemaNode()
        }
        count += 1
        if dialect == .query, count > Self.queryLimit {
            if count == Self.queryLimit + 1 {
                issue(
                    .failedToParse, "is more than \(Self.queryLimit) schemas", at: pointer,
                    query: "$jsonSchema has more than \(Self.queryLimit) schemas in it")
            }
            return SchemaNode()
        }
        guard case .document(let document) = value else {
            issue(.typeMismatch, keyword, "must be an object", at: pointer)
            return SchemaNode()
        }
        var node = SchemaNode()
        var hasFields = false
        for field in document.fields {
            let place = pointer + "/" + JSONPointer.escape(field.key)
            if Self.fieldKeywords.contains(field.key) {
                // These keywords form one rule, which needs all of them.
                if !hasFields { node.rules.append(.fields(fields(document, at: pointer))) }
                hasFields = true
            } else if let rule = rule(field.key, field.value, document, at: place) {
                node.rules.append(rule)
            }
        }
        node.rules = node.rules.enumerated()
            .sorted { ($0.element.rank, $0.offset) < ($1.element.rank, $1.offset) }.map(\.element)
        return node
    }

    private mutating func rule(_ name: String, _ value: Value, _ siblings: Document, at pointer: String) -> SchemaRule?
    {
        switch name {
        case "bsonType", "type": return types(name, value, siblings, at: pointer)
        case "enum":
            guard let values = array(name, value, at: pointer) else { return nil }
            if values.isEmpty { issue(.failedToParse, name, "cannot be an empty array", at: pointer) }
            return .enumeration(values, Set(values))
        case "minProperties": return count(name, value, at: pointer).map { .fieldCount($0...Int.max) }
        case "maxProperties": return count(name, value, at: pointer).map { .fieldCount(0...$0) }
        case "dependencies": return .dependencies(dependencies(value, at: pointer))
        case "items": return items(value, siblings, at: pointer)
        case "additionalItems":
            // With a list in `items` it is read together with that; otherwise it has no effect.
            if case .array? = siblings["items"] { return nil }
            _ = additional(name, value, at: pointer)
            return nil
        case "minItems": return count(name, value, at: pointer).map { .itemCount($0...Int.max) }
        case "maxItems": return count(name, value, at: pointer).map { .itemCount(0...$0) }
        case "uniqueItems": return flag(name, value, at: pointer) ? .uniqueItems : nil
        case "minimum", "maximum":
            guard value.isNumber else {
                issue(.typeMismatch, name, "must be a number", at: pointer)
                return nil
            }
            let isExclusive = siblings[name == "minimum" ? "exclusiveMinimum" : "exclusiveMaximum"] == .bool(true)
            return name == "minimum"
                ? .minimum(value, isExclusive: isExclusive) : .maximum(value, isExclusive: isExclusive)
        case "exclusiveMinimum", "exclusiveMaximum":
            _ = flag(name, value, at: pointer)
            if dialect == .query, siblings[name == "exclusiveMinimum" ? "minimum" : "maximum"] == nil {
                issue(.failedToParse, name, "needs the bound itself", at: pointer)
            }
            return nil
        case "multipleOf":
            guard value.isNumber, let divisor = value.doubleValue, divisor > 0, divisor.isFinite else {
                issue(.failedToParse, name, "must be a positive number", at: pointer)
                return nil
            }
            return .multipleOf(value)
        case "minLength": return count(name, value, at: pointer).map { .length($0...Int.max) }
        case "maxLength": return count(name, value, at: pointer).map { .length(0...$0) }
        case "pattern":
            guard case .string(let text) = value else {
                issue(.typeMismatch, name, "must be a string", at: pointer)
                return nil
            }
            return pattern(text, at: pointer).map { .pattern($0) }
        case "allOf": return .allOf(nodes(name, value, at: pointer))
        case "anyOf": return .anyOf(nodes(name, value, at: pointer))
        case "oneOf": return .oneOf(nodes(name, value, at: pointer))
        case "not": return .not(node(value, name, at: pointer))
        default:
            checkAnnotation(name, value, at: pointer)
            return nil
        }
    }

    private mutating func checkAnnotation(_ name: String, _ value: Value, at pointer: String) {
        if Self.annotations.contains(name) {
            if dialect == .collection { return }
            if case .string = value { return }
            issue(.typeMismatch, name, "must be of type string", at: pointer)
        } else if dialect == .query, Self.unsupported.contains(name) {
            issue(.failedToParse, name, "is not currently supported", at: pointer)
        } else if dialect == .query || !Self.otherAnnotations.contains(name) {
            issue(
                .failedToParse, "unknown keyword \(name)", at: pointer, query: "Unknown $jsonSchema keyword: \(name)",
                isUnknownKeyword: true)
        }
    }

    // MARK: Types

    private mutating func types(_ name: String, _ value: Value, _ siblings: Document, at pointer: String) -> SchemaRule?
    {
        switch dialect {
        case .collection:
            // `bsonType` is more exact and takes precedence.
            if name == "type", siblings["bsonType"] != nil { return nil }
            return collectionTypes(value, at: pointer).map { .types($0) }
        case .query:
            if name == "bsonType", siblings["type"] != nil {
                issue(
                    .failedToParse, "stands beside 'type'", at: pointer,
                    query: "Cannot specify both $jsonSchema keywords 'type' and 'bsonType'")
                return nil
            }
            switch value {
            case .string, .array: break
            default:
                issue(.typeMismatch, name, "must be a string or an array of strings", at: pointer)
                return nil
            }
            do throws(QueryError) {
                return .exactTypes(name == "type" ? try TypeSet(jsonTypes: value) : try TypeSet(value))
            } catch {
                issue(error, at: pointer)
                return nil
            }
        }
    }

    private mutating func collectionTypes(_ value: Value, at pointer: String) -> Set<BSONType>? {
        let names: [Value] = if case .array(let items) = value { items } else { [value] }
        var types: Set<BSONType> = []
        for name in names {
            guard case .string(let text) = name else {
                issue(.typeMismatch, "bsonType", "must be a type's name or a list of them", at: pointer)
                continue
            }
            if let type = BSONType(rawValue: text) ?? BSONType(alias: text) {
                types.insert(type)
            } else {
                issue(.badValue("unsupported type \(text)"), at: pointer, isUnsupportedType: true)
            }
        }
        return types.isEmpty ? nil : types
    }

    // MARK: Documents

    private mutating func fields(_ document: Document, at pointer: String) -> SchemaRule.Fields {
        var fields = SchemaRule.Fields()
        for field in document.fields {
            let place = pointer + "/" + JSONPointer.escape(field.key)
            switch field.key {
            case "properties":
                for property in members(field.key, field.value, at: place) {
                    let inner = place + "/" + JSONPointer.escape(property.key)
                    if property.key.utf8.contains(0) {
                        issue(.failedToParse, field.key, "must not have U+0000 in a name: no field has it", at: inner)
                    }
                    let node = node(property.value, property.key, at: inner)
                    fields.properties.append(.init(name: property.key, node: node))
                    fields.byName[property.key] = node
                }
            case "patternProperties":
                for property in members(field.key, field.value, at: place) {
                    let inner = place + "/" + JSONPointer.escape(property.key)
                    let node = node(property.value, property.key, at: inner)
                    if let pattern = pattern(property.key, at: inner) { fields.patterns.append((pattern, node)) }
                }
            case "additionalProperties": fields.additional = additional(field.key, field.value, at: place)
            case "required":
                fields.required = strings(field.key, field.value, at: place)
                if dialect == .query, field.value == .array([]) {
                    issue(.failedToParse, field.key, "cannot be an empty array", at: place)
                }
            default: break
            }
        }
        return fields
    }

    private mutating func dependencies(_ value: Value, at pointer: String) -> [(name: String, SchemaRule.Dependency)] {
        members("dependencies", value, at: pointer).map { field in
            let place = pointer + "/" + JSONPointer.escape(field.key)
            if case .array = field.value {
                return (field.key, .fields(strings("dependencies", field.value, at: place)))
            }
            return (field.key, .node(node(field.value, "dependencies", at: place)))
        }
    }

    private mutating func additional(_ name: String, _ value: Value, at pointer: String) -> SchemaRule.Additional {
        switch value {
        case .bool(true): return .allowed
        case .bool(false): return .forbidden
        case .document: return .matching(node(value, name, at: pointer))
        default:
            issue(.typeMismatch, name, "must be either an object or a boolean", at: pointer)
            return .allowed
        }
    }

    private mutating func items(_ value: Value, _ siblings: Document, at pointer: String) -> SchemaRule {
        guard case .array(let elements) = value else { return .items(node(value, "items", at: pointer)) }
        let nodes = elements.enumerated().map { node($1, "items", at: "\(pointer)/\($0)") }
        guard let additional = siblings["additionalItems"] else { return .tuple(nodes, additional: .allowed) }
        let place = JSONPointer.parent(pointer) + "/additionalItems"
        return .tuple(nodes, additional: self.additional("additionalItems", additional, at: place))
    }

    // MARK: Operands

    private mutating func pattern(_ text: String, at pointer: String) -> SchemaRule.Pattern? {
        do throws(QueryError) {
            return SchemaRule.Pattern(source: text, compiled: try RegexEngine.compile(RegularExpression(text)))
        } catch {
            issue(error, at: pointer)
            return nil
        }
    }

    private mutating func members(_ name: String, _ value: Value, at pointer: String) -> [Document.Field] {
        if case .document(let document) = value { return document.fields }
        issue(.typeMismatch, name, "must be an object", at: pointer)
        return []
    }

    private mutating func nodes(_ name: String, _ value: Value, at pointer: String) -> [SchemaNode] {
        guard let elements = array(name, value, at: pointer) else { return [] }
        if elements.isEmpty { issue(.badValue, name, "must be a non-empty array", at: pointer) }
        return elements.enumerated().map { node($1, name, at: "\(pointer)/\($0)") }
    }

    private mutating func array(_ name: String, _ value: Value, at pointer: String) -> [Value]? {
        if case .array(let elements) = value { return elements }
        issue(.typeMismatch, name, "must be an array", at: pointer)
        return nil
    }

    private mutating func strings(_ name: String, _ value: Value, at pointer: String) -> [String] {
        (array(name, value, at: pointer) ?? []).enumerated().compactMap { index, element in
            if case .string(let text) = element { return text }
            issue(.typeMismatch, name, "must be an array of strings", at: "\(pointer)/\(index)")
            return nil
        }
    }

    private mutating func flag(_ name: String, _ value: Value, at pointer: String) -> Bool {
        if case .bool(let flag) = value { return flag }
        issue(.typeMismatch, name, "must be a boolean", at: pointer)
        return false
    }

    private mutating func count(_ name: String, _ value: Value, at pointer: String) -> Int? {
        if value.isNumber, let count = value.intValue, count >= 0 { return count }
        issue(.failedToParse, name, "must be a non-negative integer", at: pointer)
        return nil
    }
}

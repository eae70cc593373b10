import DocumentModel

/// Turns a schema's JSON into its tree and notes all that is wrong on the way.
struct SchemaParser {
    private(set) var issues: [SchemaSyntaxError.Issue] = []
    private let depthLimit = 64
    private var depth = 0

    /// Keywords that say nothing about validity.
    private static let annotations: Set<String> = [
        "title", "description", "$schema", "default", "examples", "$id", "id",
    ]

    private mutating func issue(_ code: DefinitionProblem.Code, _ pointer: String, _ message: String) {
        issues.append(SchemaSyntaxError.Issue(code: code, pointer: pointer, message: message))
    }

    private mutating func issue(_ pointer: String, _ message: String) { issue(.schemaInvalid, pointer, message) }

    mutating func node(_ value: Value, at pointer: String) -> SchemaNode {
        depth += 1
        defer { depth -= 1 }
        guard depth <= depthLimit else {
            issue(pointer, "nested deeper than \(depthLimit) levels")
            return SchemaNode()
        }
        guard case .document(let document) = value else {
            issue(pointer, "a schema is an object")
            return SchemaNode()
        }
        var node = SchemaNode()
        for field in document.fields {
            read(field, into: &node, at: pointer + "/" + JSONPointer.escape(field.key))
        }
        return node
    }

    private mutating func read(_ field: Document.Field, into node: inout SchemaNode, at pointer: String) {
        let value = field.value
        switch field.key {
        case "bsonType", "type": node.types = types(value, at: pointer)
        case "properties":
            for (key, property) in fields(value, at: pointer) {
                node.properties[key] = self.node(property, at: pointer + "/" + JSONPointer.escape(key))
            }
        case "required": node.required = strings(value, at: pointer)
        case "additionalProperties":
            node.additionalProperties =
                switch value {
                case .bool(let allowed): allowed ? .allowed : .forbidden
                default: .matching([self.node(value, at: pointer)])
                }
        case "items": node.items = [self.node(value, at: pointer)]
        case "enum":
            guard case .array(let values) = value, !values.isEmpty else {
                return issue(pointer, "takes a list of values")
            }
            node.enumeration = values
        case "minimum": node.minimum = number(value, at: pointer)
        case "maximum": node.maximum = number(value, at: pointer)
        case "exclusiveMinimum": node.isMinimumExclusive = flag(value, at: pointer)
        case "exclusiveMaximum": node.isMaximumExclusive = flag(value, at: pointer)
        case "multipleOf":
            guard let factor = value.doubleValue, factor > 0 else { return issue(pointer, "takes a positive number") }
            node.multipleOf = factor
        case "minLength": node.length.min = count(value, at: pointer)
        case "maxLength": node.length.max = count(value, at: pointer)
        case "minItems": node.itemCount.min = count(value, at: pointer)
        case "maxItems": node.itemCount.max = count(value, at: pointer)
        case "minProperties": node.propertyCount.min = count(value, at: pointer)
        case "maxProperties": node.propertyCount.max = count(value, at: pointer)
        case "uniqueItems": node.hasUniqueItems = flag(value, at: pointer)
        case "pattern":
            guard case .string(let text) = value, let pattern = SchemaPattern(text) else {
                return issue(pointer, "takes a regular expression")
            }
            node.pattern = pattern
        case "allOf": node.allOf = nodes(value, at: pointer)
        case "anyOf": node.anyOf = nodes(value, at: pointer)
        case "oneOf": node.oneOf = nodes(value, at: pointer)
        case "not": node.not = [self.node(value, at: pointer)]
        default:
            if !Self.annotations.contains(field.key) { issue(pointer, "unknown keyword \(field.key)") }
        }
    }

    private mutating func types(_ value: Value, at pointer: String) -> Set<BSONType>? {
        let names: [Value] = if case .array(let items) = value { items } else { [value] }
        var types: Set<BSONType> = []
        for name in names {
            guard case .string(let text) = name else {
                issue(pointer, "takes a type's name or a list of them")
                continue
            }
            if let type = BSONType(rawValue: text) ?? BSONType(alias: text) {
                types.insert(type)
            } else {
                issue(.schemaTypeUnsupported, pointer, "unsupported type \(text)")
            }
        }
        return types.isEmpty ? nil : types
    }

    private mutating func fields(_ value: Value, at pointer: String) -> [(String, Value)] {
        guard case .document(let document) = value else {
            issue(pointer, "takes an object")
            return []
        }
        return document.fields.map { ($0.key, $0.value) }
    }

    private mutating func nodes(_ value: Value, at pointer: String) -> [SchemaNode] {
        guard case .array(let items) = value, !items.isEmpty else {
            issue(pointer, "takes a list of schemas")
            return []
        }
        return items.enumerated().map { node($1, at: "\(pointer)/\($0)") }
    }

    private mutating func strings(_ value: Value, at pointer: String) -> [String] {
        guard case .array(let items) = value else {
            issue(pointer, "takes a list of names")
            return []
        }
        return items.enumerated().compactMap { index, item in
            if case .string(let text) = item { return text }
            issue("\(pointer)/\(index)", "isn't a name")
            return nil
        }
    }

    private mutating func number(_ value: Value, at pointer: String) -> Value? {
        if value.doubleValue != nil { return value }
        issue(pointer, "takes a number")
        return nil
    }

    private mutating func count(_ value: Value, at pointer: String) -> Int? {
        if let number = value.doubleValue, let count = Int(exactly: number), count >= 0 { return count }
        issue(pointer, "takes a whole number that isn't negative")
        return nil
    }

    private mutating func flag(_ value: Value, at pointer: String) -> Bool {
        if case .bool(let flag) = value { return flag }
        issue(pointer, "takes true or false")
        return false
    }
}

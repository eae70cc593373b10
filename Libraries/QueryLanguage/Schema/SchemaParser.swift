import DocumentModel

/// Reads the document of a schema.
struct SchemaParser {
    private var depth = 0

    private static let documented: Set<String> = ["title", "description"]
    private static let unsupported: Set<String> = ["$ref", "$schema", "default", "definitions", "format", "id"]

    mutating func parse(_ document: Document) throws(QueryError) -> JSONSchema {
        depth += 1
        defer { depth -= 1 }
        guard depth <= 100 else { throw .failedToParse("$jsonSchema is nested too deeply") }
        var rules: [SchemaRule] = []
        for field in document.fields {
            if Self.documented.contains(field.key) {
                guard case .string = field.value else {
                    throw .typeMismatch("$jsonSchema keyword '\(field.key)' must be of type string")
                }
                continue
            }
            if Self.unsupported.contains(field.key) {
                throw .failedToParse("$jsonSchema keyword '\(field.key)' is not currently supported")
            }
            if let rule = try rule(field.key, field.value, document) { rules.append(rule) }
        }
        return JSONSchema(rules: rules)
    }

    private mutating func rule(_ name: String, _ value: Value, _ siblings: Document) throws(QueryError) -> SchemaRule? {
        switch name {
        case "bsonType":
            guard siblings["type"] == nil else {
                throw .failedToParse("Cannot specify both $jsonSchema keywords 'type' and 'bsonType'")
            }
            switch value {
            case .string, .array: return .types(try TypeSet(value).codes)
            default: throw .typeMismatch("$jsonSchema keyword 'bsonType' must be a string or an array of strings")
            }
        case "type": return .types(try jsonTypes(value))
        case "enum": return .enumeration(try array(name, value))
        case "properties", "patternProperties", "additionalProperties": return try properties(name, siblings)
        case "required":
            let names = try strings(name, value)
            guard !names.isEmpty else {
                throw .failedToParse("$jsonSchema keyword 'required' cannot be an empty array")
            }
            return .required(names)
        case "minProperties": return .propertyCount(try count(name, value)...Int.max)
        case "maxProperties": return .propertyCount(0...(try count(name, value)))
        case "dependencies": return .dependencies(try dependencies(value))
        case "items", "additionalItems": return try items(name, siblings)
        case "minItems": return .itemCount(try count(name, value)...Int.max)
        case "maxItems": return .itemCount(0...(try count(name, value)))
        case "uniqueItems": return try flag(name, value) ? .uniqueItems : nil
        case "minimum", "maximum":
            guard value.isNumber else { throw .typeMismatch("$jsonSchema keyword '\(name)' must be a number") }
            let exclusive = name == "minimum" ? "exclusiveMinimum" : "exclusiveMaximum"
            let isExclusive =
                try siblings[exclusive].map { (value) throws(QueryError) in try flag(exclusive, value) } ?? false
            return name == "minimum"
                ? .minimum(value, isExclusive: isExclusive) : .maximum(value, isExclusive: isExclusive)
        case "exclusiveMinimum", "exclusiveMaximum":
            guard siblings[name == "exclusiveMinimum" ? "minimum" : "maximum"] != nil else {
                throw .failedToParse("$jsonSchema keyword '\(name)' needs the bound itself")
            }
            return nil
        case "multipleOf":
            guard value.isNumber, let divisor = value.doubleValue, divisor > 0 else {
                throw .failedToParse("$jsonSchema keyword 'multipleOf' must have a positive value")
            }
            return .multipleOf(value)
        case "minLength": return .length(try count(name, value)...Int.max)
        case "maxLength": return .length(0...(try count(name, value)))
        case "pattern":
            guard case .string(let pattern) = value else {
                throw .typeMismatch("$jsonSchema keyword 'pattern' must be a string")
            }
            return .pattern(try RegexEngine.compile(RegularExpression(pattern)), pattern)
        case "allOf": return .allOf(try schemas(name, value))
        case "anyOf": return .anyOf(try schemas(name, value))
        case "oneOf": return .oneOf(try schemas(name, value))
        case "not": return .not(try schema(name, value))
        default: throw .failedToParse("Unknown $jsonSchema keyword: \(name)")
        }
    }

    private mutating func schema(_ name: String, _ value: Value) throws(QueryError) -> JSONSchema {
        guard case .document(let document) = value else {
            throw .typeMismatch("$jsonSchema keyword '\(name)' must be an object")
        }
        return try parse(document)
    }

    private mutating func schemas(_ name: String, _ value: Value) throws(QueryError) -> [JSONSchema] {
        let elements = try array(name, value)
        guard !elements.isEmpty else { throw .badValue("$jsonSchema keyword '\(name)' must be a non-empty array") }
        var schemas: [JSONSchema] = []
        for element in elements { schemas.append(try schema(name, element)) }
        return schemas
    }

    private func array(_ name: String, _ value: Value) throws(QueryError) -> [Value] {
        guard case .array(let elements) = value else {
            throw .typeMismatch("$jsonSchema keyword '\(name)' must be an array")
        }
        return elements
    }

    private func strings(_ name: String, _ value: Value) throws(QueryError) -> [String] {
        var strings: [String] = []
        for element in try array(name, value) {
            guard case .string(let text) = element else {
                throw .typeMismatch("$jsonSchema keyword '\(name)' must be an array of strings")
            }
            strings.append(text)
        }
        return strings
    }

    private func flag(_ name: String, _ value: Value) throws(QueryError) -> Bool {
        guard case .bool(let flag) = value else {
            throw .typeMismatch("$jsonSchema keyword '\(name)' must be a boolean")
        }
        return flag
    }

    private func count(_ name: String, _ value: Value) throws(QueryError) -> Int {
        guard value.isNumber, let count = value.intValue, count >= 0 else {
            throw .failedToParse("$jsonSchema keyword '\(name)' must be a non-negative integer")
        }
        return count
    }

    private func jsonTypes(_ value: Value) throws(QueryError) -> Set<UInt8> {
        let names: [String]
        if case .string(let name) = value { names = [name] } else { names = try strings("type", value) }
        var codes: Set<UInt8> = []
        for name in names {
            switch name {
            case "object": codes.insert(0x03)
            case "array": codes.insert(0x04)
            case "boolean": codes.insert(0x08)
            case "null": codes.insert(0x0A)
            case "string": codes.insert(0x02)
            case "number": codes.formUnion([0x01, 0x10, 0x12, 0x13])
            case "integer": throw .failedToParse("$jsonSchema type 'integer' is not currently supported.")
            default: throw .badValue("Unknown type name alias: \(name)")
            }
        }
        return codes
    }

    /// The three keywords about properties make one rule, at the first of them.
    private mutating func properties(_ name: String, _ siblings: Document) throws(QueryError) -> SchemaRule? {
        let keywords = ["properties", "patternProperties", "additionalProperties"]
        guard siblings.fields.first(where: { keywords.contains($0.key) })?.key == name else { return nil }
        var properties: [ExactText: JSONSchema] = [:]
        var patterns: [(any CompiledRegex, JSONSchema)] = []
        if let value = siblings["properties"] {
            guard case .document(let fields) = value else {
                throw .typeMismatch("$jsonSchema keyword 'properties' must be an object")
            }
            for field in fields.fields { properties[field.key] = try schema(field.key, field.value) }
        }
        if let value = siblings["patternProperties"] {
            guard case .document(let fields) = value else {
                throw .typeMismatch("$jsonSchema keyword 'patternProperties' must be an object")
            }
            for field in fields.fields {
                patterns.append(
                    (try RegexEngine.compile(RegularExpression(field.key)), try schema(field.key, field.value)))
            }
        }
        return .properties(properties, patterns: patterns, additional: try additional("additionalProperties", siblings))
    }

    private mutating func additional(_ name: String, _ siblings: Document) throws(QueryError) -> SchemaRule.Additional {
        switch siblings[name] {
        case nil, .bool(true)?: .allowed
        case .bool(false)?: .forbidden
        case .document(let document)?: .schema(try parse(document))
        default: throw .typeMismatch("$jsonSchema keyword '\(name)' must be either an object or a boolean")
        }
    }

    private mutating func items(_ name: String, _ siblings: Document) throws(QueryError) -> SchemaRule? {
        if name == "additionalItems" {
            _ = try additional(name, siblings)
            return nil
        }
        guard case .array(let elements)? = siblings["items"] else {
            return .items(try schema("items", siblings["items"] ?? .null))
        }
        var schemas: [JSONSchema] = []
        for element in elements { schemas.append(try schema("items", element)) }
        return .tuple(schemas, additional: try additional("additionalItems", siblings))
    }

    private mutating func dependencies(_ value: Value) throws(QueryError) -> [(String, SchemaRule.Dependency)] {
        guard case .document(let document) = value else {
            throw .typeMismatch("$jsonSchema keyword 'dependencies' must be an object")
        }
        var dependencies: [(String, SchemaRule.Dependency)] = []
        for field in document.fields {
            if case .array = field.value {
                dependencies.append((field.key, .fields(try strings("dependencies", field.value))))
            } else {
                dependencies.append((field.key, .schema(try schema("dependencies", field.value))))
            }
        }
        return dependencies
    }
}

import DocumentModel

/// Finds the first rule of a schema that a value breaks.
enum SchemaCheck {
    typealias Violation = JSONSchema.Violation

    static func violation(of schema: JSONSchema, _ value: Value, _ path: String) throws(QueryError) -> Violation? {
        for rule in schema.rules {
            if let violation = try violation(of: rule, value, path) { return violation }
        }
        return nil
    }

    private static func violation(of rule: SchemaRule, _ value: Value, _ path: String) throws(QueryError) -> Violation?
    {
        switch rule {
        case .types(let codes):
            return codes.contains(value.typeCode)
                ? nil : Violation(path: path, keyword: "bsonType", message: "has the type \(value.typeName)")
        case .enumeration(let values):
            return values.contains(value)
                ? nil : Violation(path: path, keyword: "enum", message: "is none of the allowed values")
        case .allOf(let schemas):
            for schema in schemas {
                if let violation = try violation(of: schema, value, path) { return violation }
            }
            return nil
        case .anyOf(let schemas):
            for schema in schemas where try violation(of: schema, value, path) == nil { return nil }
            return Violation(path: path, keyword: "anyOf", message: "satisfies none of the schemas")
        case .oneOf(let schemas):
            var count = 0
            for schema in schemas where try violation(of: schema, value, path) == nil { count += 1 }
            return count == 1
                ? nil : Violation(path: path, keyword: "oneOf", message: "satisfies \(count) of the schemas")
        case .not(let schema):
            return try violation(of: schema, value, path) != nil
                ? nil : Violation(path: path, keyword: "not", message: "satisfies what it must not")
        default: break
        }
        switch value {
        case .document(let document): return try violation(of: rule, document, path)
        case .array(let elements): return try violation(of: rule, elements, path)
        case .string(let text): return try violation(of: rule, text, path)
        case .int32, .int64, .double, .decimal128: return violation(of: rule, number: value, path)
        default: return nil
        }
    }

    private static func join(_ path: String, _ name: String) -> String { path.isEmpty ? name : "\(path).\(name)" }

    private static func violation(of rule: SchemaRule, _ document: Document, _ path: String) throws(QueryError)
        -> Violation?
    {
        switch rule {
        case .required(let names):
            guard let missing = names.first(where: { document.index(of: $0) == nil }) else { return nil }
            return Violation(path: join(path, missing), keyword: "required", message: "is missing")
        case .propertyCount(let range):
            return range.contains(document.count)
                ? nil
                : Violation(path: path, keyword: "minProperties/maxProperties", message: "has \(document.count) fields")
        case .properties(let properties, let patterns, let additional):
            for field in document.fields {
                if let violation = try violation(field, properties, patterns, additional, path) { return violation }
            }
            return nil
        case .dependencies(let dependencies):
            for (name, dependency) in dependencies where document.index(of: name) != nil {
                switch dependency {
                case .fields(let names):
                    if let missing = names.first(where: { document.index(of: $0) == nil }) {
                        return Violation(
                            path: join(path, missing), keyword: "dependencies", message: "is missing beside \(name)")
                    }
                case .schema(let schema):
                    if let violation = try violation(of: schema, .document(document), path) { return violation }
                }
            }
            return nil
        default: return nil
        }
    }

    private static func violation(
        _ field: Document.Field, _ properties: [ExactText: JSONSchema], _ patterns: [(any CompiledRegex, JSONSchema)],
        _ additional: SchemaRule.Additional, _ path: String
    ) throws(QueryError) -> Violation? {
        let place = join(path, field.key)
        var isNamed = false
        if let schema = properties[field.key] {
            isNamed = true
            if let violation = try violation(of: schema, field.value, place) { return violation }
        }
        for (pattern, schema) in patterns where try pattern.matches(field.key) {
            isNamed = true
            if let violation = try violation(of: schema, field.value, place) { return violation }
        }
        if isNamed { return nil }
        switch additional {
        case .allowed: return nil
        case .forbidden: return Violation(path: place, keyword: "additionalProperties", message: "is not in the schema")
        case .schema(let schema): return try violation(of: schema, field.value, place)
        }
    }

    private static func violation(of rule: SchemaRule, _ elements: [Value], _ path: String) throws(QueryError)
        -> Violation?
    {
        switch rule {
        case .items(let schema):
            for (index, element) in elements.enumerated() {
                if let violation = try violation(of: schema, element, join(path, String(index))) { return violation }
            }
            return nil
        case .tuple(let schemas, let additional):
            for (index, element) in elements.enumerated() {
                let place = join(path, String(index))
                if index < schemas.count {
                    if let violation = try violation(of: schemas[index], element, place) { return violation }
                    continue
                }
                switch additional {
                case .allowed: break
                case .forbidden:
                    return Violation(path: place, keyword: "additionalItems", message: "is one element too many")
                case .schema(let schema):
                    if let violation = try violation(of: schema, element, place) { return violation }
                }
            }
            return nil
        case .itemCount(let range):
            return range.contains(elements.count)
                ? nil : Violation(path: path, keyword: "minItems/maxItems", message: "has \(elements.count) elements")
        case .uniqueItems:
            return Set(elements).count == elements.count
                ? nil : Violation(path: path, keyword: "uniqueItems", message: "has an element twice")
        default: return nil
        }
    }

    private static func violation(of rule: SchemaRule, _ text: String, _ path: String) throws(QueryError) -> Violation?
    {
        switch rule {
        case .length(let range):
            let count = text.unicodeScalars.count
            return range.contains(count)
                ? nil : Violation(path: path, keyword: "minLength/maxLength", message: "has \(count) characters")
        case .pattern(let pattern, let source):
            return try pattern.matches(text)
                ? nil : Violation(path: path, keyword: "pattern", message: "does not match \(source)")
        default: return nil
        }
    }

    private static func violation(of rule: SchemaRule, number: Value, _ path: String) -> Violation? {
        switch rule {
        case .minimum(let bound, let isExclusive):
            let order = Value.compare(number, bound)
            return order > 0 || order == 0 && !isExclusive
                ? nil : Violation(path: path, keyword: "minimum", message: "is too small")
        case .maximum(let bound, let isExclusive):
            let order = Value.compare(number, bound)
            return order < 0 || order == 0 && !isExclusive
                ? nil : Violation(path: path, keyword: "maximum", message: "is too large")
        case .multipleOf(let divisor):
            let isMultiple: Bool
            if let a = number.int64Value, let b = divisor.int64Value, b != 0 {
                isMultiple = b == -1 || a % b == 0
            } else {
                isMultiple =
                    (number.doubleValue ?? .nan).truncatingRemainder(dividingBy: divisor.doubleValue ?? .nan) == 0
            }
            return isMultiple
                ? nil : Violation(path: path, keyword: "multipleOf", message: "is no multiple of \(divisor)")
        default: return nil
        }
    }
}

import DocumentModel

/// Compares a value with a schema and collects what doesn't fit.
struct SchemaValidator {
    private(set) var violations: [SchemaViolation] = []
    /// More than this aren't collected: a hostile document must not cost more than reading it.
    private let limit = 20

    private mutating func violation(_ path: String, _ message: String) {
        if violations.count < limit { violations.append(SchemaViolation(path: path, message: message)) }
    }

    mutating func validate(_ value: Value, _ node: SchemaNode, at path: String) {
        if let types = node.types, !types.contains(where: { $0.accepts(value) }) {
            let names = types.map(\.rawValue).sorted().joined(separator: " or ")
            return violation(path, "is \(value.typeName), the schema asks for \(names)")
        }
        if let allowed = node.enumeration, !allowed.contains(where: { $0 == value }) {
            violation(path, "isn't one of the allowed values")
        }
        switch value {
        case .document(let document): validate(document, node, at: path)
        case .array(let items): validate(items, node, at: path)
        case .string(let text): validate(text, node, at: path)
        case .int32, .int64, .double, .decimal128: validateNumber(value, node, at: path)
        default: break
        }
        validateCombinations(value, node, at: path)
    }

    private mutating func validate(_ document: Document, _ node: SchemaNode, at path: String) {
        for name in node.required where document[name] == nil {
            violation(join(path, name), "is required")
        }
        for field in document.fields {
            let inner = join(path, field.key)
            if let property = node.properties[field.key] {
                // A field that isn't required may be there without a value.
                if case .null = field.value, !node.required.containsExactly(field.key) { continue }
                validate(field.value, property, at: inner)
                continue
            }
            switch node.additionalProperties {
            case .allowed: break
            case .forbidden: if path != "" || field.key != "_id" { violation(inner, "isn't declared in the schema") }
            case .matching(let nodes): for node in nodes { validate(field.value, node, at: inner) }
            }
        }
        check(document.fields.count, node.propertyCount, "fields", at: path)
    }

    private mutating func validate(_ items: [Value], _ node: SchemaNode, at path: String) {
        if let itemNode = node.items.first {
            for (index, item) in items.enumerated() where violations.count < limit {
                validate(item, itemNode, at: join(path, String(index)))
            }
        }
        check(items.count, node.itemCount, "elements", at: path)
        if node.hasUniqueItems {
            for (index, item) in items.enumerated()
            where items[..<index].contains(where: { $0 == item }) {
                return violation(join(path, String(index)), "stands in the list twice")
            }
        }
    }

    private mutating func validate(_ text: String, _ node: SchemaNode, at path: String) {
        check(text.unicodeScalars.count, node.length, "characters", at: path)
        if let pattern = node.pattern, !pattern.matches(text) {
            violation(path, "doesn't match the pattern \(pattern.source)")
        }
    }

    private mutating func validateNumber(_ value: Value, _ node: SchemaNode, at path: String) {
        if let minimum = node.minimum, let order = RuleComparison.order(value, minimum),
            order < 0 || (order == 0 && node.isMinimumExclusive)
        {
            violation(path, "is too small")
        }
        if let maximum = node.maximum, let order = RuleComparison.order(value, maximum),
            order > 0 || (order == 0 && node.isMaximumExclusive)
        {
            violation(path, "is too large")
        }
        if let factor = node.multipleOf, let number = value.doubleValue,
            number.truncatingRemainder(dividingBy: factor) != 0
        {
            violation(path, "isn't a multiple of \(factor)")
        }
    }

    private mutating func validateCombinations(_ value: Value, _ node: SchemaNode, at path: String) {
        for part in node.allOf { validate(value, part, at: path) }
        if !node.anyOf.isEmpty, !node.anyOf.contains(where: { accepts(value, $0) }) {
            violation(path, "fits none of the alternatives")
        }
        if !node.oneOf.isEmpty, node.oneOf.count(where: { accepts(value, $0) }) != 1 {
            violation(path, "doesn't fit exactly one of the alternatives")
        }
        for part in node.not where accepts(value, part) { violation(path, "fits what is excluded") }
    }

    private func accepts(_ value: Value, _ node: SchemaNode) -> Bool {
        var inner = SchemaValidator()
        inner.validate(value, node, at: "")
        return inner.violations.isEmpty
    }

    private mutating func check(_ count: Int, _ bounds: (min: Int?, max: Int?), _ what: String, at path: String) {
        if let minimum = bounds.min, count < minimum {
            violation(path, "has \(count) \(what), at least \(minimum) are asked for")
        }
        if let maximum = bounds.max, count > maximum {
            violation(path, "has \(count) \(what), at most \(maximum) are allowed")
        }
    }

    private func join(_ path: String, _ key: String) -> String { path.isEmpty ? key : path + "." + key }
}

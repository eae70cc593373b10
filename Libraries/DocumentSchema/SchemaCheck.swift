import DocumentModel

/// Compares a value with a schema, and collects the violations.
///
/// For documents that are written by SQL, `partita.schema_violation` in Postgres reports the same violations in the same order and
/// words.
struct SchemaCheck {
    typealias Violation = DocumentSchema.Violation

    let dialect: DocumentSchema.Dialect
    let limit: Int
    private(set) var violations: [Violation] = []
    private var turn = 0

    init(dialect: DocumentSchema.Dialect, limit: Int) {
        self.dialect = dialect
        self.limit = limit
    }

    private mutating func violation(_ path: String, _ message: String) {
        if violations.count < limit { violations.append(Violation(path: path, message: message)) }
    }

    private var isFull: Bool { violations.count >= limit }

    private func join(_ path: String, _ key: String) -> String { path.isEmpty ? key : path + "." + key }

    mutating func check(_ value: Value, _ node: SchemaNode, at path: String) throws(QueryError) {
        // A document that is written is always checked to its end: an interruption must not make it invalid.
        turn += 1
        if dialect == .query, turn & 255 == 0 { try QueryError.throwIfInterrupted() }
        for rule in node.rules where !isFull {
            guard try check(value, rule, at: path) else { return }
        }
    }

    /// - Returns: whether to check further rules: a value with the wrong type would violate the other rules too.
    private mutating func check(_ value: Value, _ rule: SchemaRule, at path: String) throws(QueryError) -> Bool {
        switch (rule, value) {
        case (.types(let types), _):
            if types.contains(where: { $0.accepts(value) }) { return true }
            let names = types.map(\.rawValue).sorted().joined(separator: " or ")
            violation(path, "is \(value.typeName), the schema asks for \(names)")
            return false
        case (.exactTypes(let types), _):
            if types.contains(value) { return true }
            violation(path, "is \(value.typeName), which the schema doesn't allow")
            return false
        case (.enumeration(_, let allowed), _):
            if !allowed.contains(value) { violation(path, "isn't one of the allowed values") }
        case (.fields(let fields), .document(let document)): try check(document, fields, at: path)
        case (.dependencies(let dependencies), .document(let document)):
            for (name, dependency) in dependencies where document.index(of: name) != nil {
                switch dependency {
                case .fields(let names):
                    for missing in names where document.index(of: missing) == nil {
                        violation(join(path, missing), "is required beside \(name)")
                    }
                case .node(let node): try check(value, node, at: path)
                }
            }
        case (.fieldCount(let range), .document(let document)): check(document.count, range, "fields", at: path)
        case (.items(let node), .array(let elements)):
            for (index, element) in elements.enumerated() where !isFull {
                try check(element, node, at: join(path, String(index)))
            }
        case (.tuple(let nodes, let additional), .array(let elements)):
            try check(elements, nodes, additional, at: path)
        case (.itemCount(let range), .array(let elements)): check(elements.count, range, "elements", at: path)
        case (.uniqueItems, .array(let elements)):
            var seen: Set<Value> = []
            if let index = elements.firstIndex(where: { !seen.insert($0).inserted }) {
                violation(join(path, String(index)), "stands in the list twice")
            }
        case (.length(let range), .string(let text)):
            check(text.unicodeScalars.count, range, "characters", at: path)
        case (.pattern(let pattern), .string(let text)):
            if try !pattern.compiled.matches(text) { violation(path, "doesn't match the pattern \(pattern.source)") }
        case (.minimum(let bound, let isExclusive), _) where value.isNumber:
            let order = Value.compare(value, bound)
            // NaN, which `compare` puts before all numbers, doesn't satisfy any minimum.
            if order < 0 || order == 0 && isExclusive { violation(path, "is too small") }
        case (.maximum(let bound, let isExclusive), _) where value.isNumber:
            let order = Value.compare(value, bound)
            if order > 0 || order == 0 && isExclusive || value.doubleValue?.isNaN == true {
                violation(path, "is too large")
            }
        case (.multipleOf(let divisor), _) where value.isNumber:
            // Computed with decimals, as in MongoDB: 0.3 is a multiple of 0.1.
            let rest = decimal(value).remainder(dividingBy: decimal(divisor))
            if Decimal128.compare(rest, Decimal128(0)) != 0 {
                violation(path, "isn't a multiple of \(ExtendedJSON.print(divisor, mode: .relaxed))")
            }
        case (.allOf(let nodes), _): for node in nodes { try check(value, node, at: path) }
        case (.anyOf(let nodes), _):
            for node in nodes where try accepts(value, node, at: path) { return true }
            violation(path, "fits none of the alternatives")
        case (.oneOf(let nodes), _):
            var count = 0
            for node in nodes where try accepts(value, node, at: path) { count += 1 }
            if count != 1 { violation(path, "doesn't fit exactly one of the alternatives") }
        case (.not(let node), _): if try accepts(value, node, at: path) { violation(path, "fits what is excluded") }
        default: break  // a rule about another type
        }
        return true
    }

    private mutating func check(_ document: Document, _ fields: SchemaRule.Fields, at path: String) throws(QueryError) {
        for name in fields.required where document.index(of: name) == nil { violation(join(path, name), "is required") }
        for field in document.fields where !isFull {
            let inner = join(path, field.key)
            var isNamed = false
            // In a collection, a field that isn't required may be null.
            let isFree =
                dialect == .collection && field.value == .null && !fields.required.containsExactly(field.key)
            if let node = fields.byName[field.key] {
                isNamed = true
                if !isFree { try check(field.value, node, at: inner) }
            }
            for (pattern, node) in fields.patterns where try pattern.compiled.matches(field.key) {
                isNamed = true
                if !isFree { try check(field.value, node, at: inner) }
            }
            if isNamed { continue }
            switch fields.additional {
            case .allowed: break
            case .forbidden:
                if dialect == .collection, path.isEmpty, field.key == "_id" { continue }
                violation(inner, "isn't declared in the schema")
            case .matching(let node): try check(field.value, node, at: inner)
            }
        }
    }

    private mutating func check(
        _ elements: [Value], _ nodes: [SchemaNode], _ additional: SchemaRule.Additional, at path: String
    ) throws(QueryError) {
        for (index, element) in elements.enumerated() where !isFull {
            let inner = join(path, String(index))
            if index < nodes.count {
                try check(element, nodes[index], at: inner)
                continue
            }
            switch additional {
            case .allowed: return
            case .forbidden: violation(inner, "isn't declared in the schema")
            case .matching(let node): try check(element, node, at: inner)
            }
        }
    }

    private mutating func check(_ count: Int, _ range: ClosedRange<Int>, _ what: String, at path: String) {
        if count < range.lowerBound {
            violation(path, "has \(count) \(what), at least \(range.lowerBound) are asked for")
        } else if count > range.upperBound {
            violation(path, "has \(count) \(what), at most \(range.upperBound) are allowed")
        }
    }

    private mutating func accepts(_ value: Value, _ node: SchemaNode, at path: String) throws(QueryError) -> Bool {
        var inner = SchemaCheck(dialect: dialect, limit: 1)
        inner.turn = turn
        try inner.check(value, node, at: path)
        turn = inner.turn
        return inner.violations.isEmpty
    }

    private func decimal(_ value: Value) -> Decimal128 {
        switch value {
        case .decimal128(let number): number
        case .double(let number): Decimal128(rounding: number)
        default: Decimal128(value.int64Value ?? 0)
        }
    }
}

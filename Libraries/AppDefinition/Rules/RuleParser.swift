import DocumentModel

/// Parses a rule expression's JSON into its syntax tree, and collects all mistakes.
///
/// Operators may be written with `%` or with `$`, with the same meaning.
struct RuleParser {
    private(set) var issues: [RuleSyntaxError.Issue] = []
    /// Expressions nest at most this deep: evaluation is recursive.
    private let depthLimit = 64
    private var depth = 0

    private mutating func issue(_ code: DefinitionProblem.Code, _ pointer: String, _ message: String) {
        issues.append(RuleSyntaxError.Issue(code: code, pointer: pointer, message: message))
    }

    /// The bare name of an operator such as `%or` or `$or`; `nil` for anything else, including expansions.
    private func operatorName(_ key: String) -> String? {
        guard key.hasPrefix("%") || key.hasPrefix("$"), !key.hasPrefix("%%") else { return nil }
        return String(key.dropFirst())
    }

    // MARK: Expressions

    mutating func expression(_ value: Value, at pointer: String) -> RuleNode {
        depth += 1
        defer { depth -= 1 }
        guard depth <= depthLimit else {
            issue(.ruleInvalid, pointer, "nested deeper than \(depthLimit) levels")
            return .constant(false)
        }
        switch value {
        case .bool(let constant): return .constant(constant)
        case .string("%%true"): return .constant(true)
        case .string("%%false"): return .constant(false)
        case .document(let document):
            return .all(document.fields.map { field($0, at: pointer + "/" + JSONPointer.escape($0.key)) })
        default:
            issue(.ruleInvalid, pointer, "a rule expression must be a boolean or an object")
            return .constant(false)
        }
    }

    private mutating func field(_ field: Document.Field, at pointer: String) -> RuleNode {
        if let name = operatorName(field.key) {
            switch name {
            case "and": return .all(expressions(field.value, at: pointer))
            case "or": return .any(expressions(field.value, at: pointer))
            case "nor": return .not(.any(expressions(field.value, at: pointer)))
            case "not": return .not(expression(field.value, at: pointer))
            case "function": return .test(functionCall(field.value, at: pointer), .equals(.literal(.bool(true))))
            default:
                issue(.ruleOperatorUnknown, pointer, "the operator \(field.key) can't stand in place of a field")
                return .constant(false)
            }
        }
        let subject = expansion(field.key, at: pointer) ?? .expansion(RuleExpansion(.root, path(field.key)))
        if case .document(let document) = field.value, isExpression(document) {
            var expected = true
            if case .expansion(let expansion) = subject, expansion.root == .false { expected = false }
            return .embedded(expected: expected, expression(field.value, at: pointer))
        }
        return .test(subject, test(field.value, at: pointer))
    }

    private mutating func expressions(_ value: Value, at pointer: String) -> [RuleNode] {
        guard case .array(let items) = value else {
            issue(.ruleInvalid, pointer, "takes an array of expressions")
            return [.constant(false)]
        }
        return items.enumerated().map { expression($1, at: "\(pointer)/\($0)") }
    }

    /// Whether an object in place of a value is an expression of its own, because it names an expansion or combines expressions. (A
    /// `%and` of tests is a test.)
    private func isExpression(_ document: Document) -> Bool {
        document.fields.contains { field in
            if field.key.hasPrefix("%%") { return true }
            switch operatorName(field.key) {
            case "and", "or", "nor":
                guard case .array(let items) = field.value else { return false }
                return items.contains { item in
                    guard case .document(let item) = item else { return true }
                    return isExpression(item) || item.fields.contains { operatorName($0.key) == nil }
                }
            case "not":
                guard case .document(let inner) = field.value else { return true }
                return isExpression(inner) || inner.fields.contains { operatorName($0.key) == nil }
            default: return false
            }
        }
    }

    // MARK: Tests

    private mutating func test(_ value: Value, at pointer: String) -> RuleTest {
        depth += 1
        defer { depth -= 1 }
        guard depth <= depthLimit else {
            issue(.ruleInvalid, pointer, "nested deeper than \(depthLimit) levels")
            return .not(.all([]))
        }
        guard case .document(let document) = value, let first = document.fields.first, operatorName(first.key) != nil
        else { return .equals(operand(value, at: pointer)) }
        let tests = document.fields.map { operatorTest($0, at: pointer + "/" + JSONPointer.escape($0.key)) }
        return tests.count == 1 ? tests[0] : .all(tests)
    }

    private mutating func operatorTest(_ field: Document.Field, at pointer: String) -> RuleTest {
        guard let name = operatorName(field.key) else {
            issue(.ruleInvalid, pointer, "operators and fields can't be mixed in one object")
            return .not(.all([]))
        }
        switch name {
        case "eq": return .equals(operand(field.value, at: pointer))
        case "ne": return .differs(operand(field.value, at: pointer))
        case "gt": return .ordered(.greater, operand(field.value, at: pointer))
        case "gte": return .ordered(.greaterOrEqual, operand(field.value, at: pointer))
        case "lt": return .ordered(.less, operand(field.value, at: pointer))
        case "lte": return .ordered(.lessOrEqual, operand(field.value, at: pointer))
        case "in": return .contained(in: list(field.value, at: pointer))
        case "nin": return .notContained(in: list(field.value, at: pointer))
        case "exists": return .exists(operand(field.value, at: pointer))
        case "and": return .all(tests(field.value, at: pointer))
        case "or": return .any(tests(field.value, at: pointer))
        case "nor": return .not(.any(tests(field.value, at: pointer)))
        case "not": return .not(test(field.value, at: pointer))
        case "function", "stringToOid", "oidToString", "stringToUuid", "uuidToString":
            return .equals(operand(.document(Document(fields: [field])), at: JSONPointer.parent(pointer)))
        default:
            issue(.ruleOperatorUnknown, pointer, "unknown operator \(field.key)")
            return .not(.all([]))
        }
    }

    private mutating func tests(_ value: Value, at pointer: String) -> [RuleTest] {
        guard case .array(let items) = value else {
            issue(.ruleInvalid, pointer, "takes an array")
            return [.not(.all([]))]
        }
        return items.enumerated().map { test($1, at: "\(pointer)/\($0)") }
    }

    private mutating func list(_ value: Value, at pointer: String) -> RuleOperand {
        let operand = operand(value, at: pointer)
        if case .literal(let literal) = operand {
            if case .array = literal { return operand }
            issue(.ruleInvalid, pointer, "takes an array, or an expansion or function that returns one")
        }
        return operand
    }

    // MARK: Operands

    mutating func operand(_ value: Value, at pointer: String) -> RuleOperand {
        depth += 1
        defer { depth -= 1 }
        guard depth <= depthLimit else {
            issue(.ruleInvalid, pointer, "nested deeper than \(depthLimit) levels")
            return .literal(.null)
        }
        switch value {
        case .string(let text): return expansion(text, at: pointer) ?? .literal(value)
        case .array(let items):
            let operands = items.enumerated().map { operand($1, at: "\(pointer)/\($0)") }
            return operands.allSatisfy(\.isLiteral) ? .literal(value) : .array(operands)
        case .document(let document):
            if let only = document.fields.first, document.fields.count == 1, let name = operatorName(only.key) {
                let inner = pointer + "/" + JSONPointer.escape(only.key)
                if name == "function" { return functionCall(only.value, at: inner) }
                if let conversion = RuleConversion(rawValue: name) {
                    return .convert(conversion, operand(only.value, at: inner))
                }
                issue(.ruleOperatorUnknown, inner, "the operator \(only.key) doesn't return a value")
                return .literal(.null)
            }
            let fields = document.fields.map { field in
                (key: field.key, value: operand(field.value, at: pointer + "/" + JSONPointer.escape(field.key)))
            }
            return fields.allSatisfy(\.value.isLiteral) ? .literal(value) : .document(fields)
        default: return .literal(value)
        }
    }

    private mutating func functionCall(_ value: Value, at pointer: String) -> RuleOperand {
        guard case .document(let call) = value, case .string(let name)? = call["name"], !name.isEmpty else {
            issue(.ruleInvalid, pointer, "takes {\"name\": …, \"arguments\": […]}")
            return .literal(.bool(false))
        }
        switch call["arguments"] {
        case nil: return .function(name: name, arguments: [])
        case .array(let items)?:
            return .function(
                name: name, arguments: items.enumerated().map { operand($1, at: "\(pointer)/arguments/\($0)") })
        default:
            issue(.ruleInvalid, pointer + "/arguments", "takes an array")
            return .literal(.bool(false))
        }
    }

    /// The expansion; `nil` when the text isn't one. An unknown expansion is a mistake.
    private mutating func expansion(_ text: String, at pointer: String) -> RuleOperand? {
        guard text.hasPrefix("%%") else { return nil }
        guard let expansion = RuleExpansion(text) else {
            issue(.ruleExpansionUnknown, pointer, "unknown expansion \(text)")
            return .literal(.bool(false))
        }
        return .expansion(expansion)
    }

    private func path(_ key: String) -> [String] {
        key.splitAtBytes(".")
    }
}

extension RuleOperand {
    var isLiteral: Bool { if case .literal = self { true } else { false } }
}

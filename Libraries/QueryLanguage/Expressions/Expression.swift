import DocumentModel

/// An aggregation expression, parsed once and evaluated for many documents.
public struct Expression: Sendable {
    /// The parsed tree.
    public let node: ExpressionNode
    /// Whether it has so many parts that it may take long even without a loop.
    private let isLarge: Bool

    /// Parses an expression. Unknown and unsupported operators are refused with an error that names them.
    /// - Parameter variables: the names of variables that the context will define, without `$$`.
    public init(_ value: Value, variables: Set<ExactText> = []) throws(QueryError) {
        var parser = ExpressionParser(variables: variables)
        node = try parser.parse(value)
        isLarge = parser.count > 64
    }

    init(node: ExpressionNode) {
        self.node = node
        isLarge = false
    }

    /// The value for a document; `nil` if it is missing.
    public func evaluate(_ context: EvaluationContext) throws(QueryError) -> Value? {
        let value = try node.evaluate(isLarge ? context.limited() : context)
        // The value of a constant or a path is bounded already.
        switch node {
        case .path, .literal: break
        default: try ComputedBounds.check(value)
        }
        return value
    }
}

extension ExpressionNode {
    func evaluate(_ context: EvaluationContext) throws(QueryError) -> Value? {
        switch self {
        case .literal(let value): return value
        case .path(let variable, let path): return Self.value(at: path[...], of: context.value(of: variable))
        case .document(let fields):
            var document = Document()
            document.fields.reserveCapacity(fields.count)
            for field in fields {
                if let value = try field.value.evaluate(context) {
                    document.fields.append(Document.Field(field.name, value))
                }
            }
            return .document(document)
        case .array(let elements):
            var values: [Value] = []
            values.reserveCapacity(elements.count)
            for element in elements { values.append(try element.evaluate(context) ?? .null) }
            return .array(values)
        case .operation(let `operator`, let arguments):
            var values: [Value?] = []
            values.reserveCapacity(arguments.count)
            for argument in arguments { values.append(try argument.evaluate(context)) }
            let result = try `operator`.body(values, context)
            try context.budget?.spend(on: values, result, factor: 1)
            return result
        case .named(let `operator`, let arguments):
            var values: [String: Value] = [:]
            for (name, argument) in arguments { values[name] = try argument.evaluate(context) }
            let result = try `operator`.body(
                NamedOperator.Arguments(given: Set(arguments.keys), values: values), context)
            // A regular expression may take long before it reaches its own limit.
            try context.budget?.spend(
                on: Array(values.values), result, factor: `operator`.name.hasPrefix("$regex") ? 200 : 1)
            return result
        default: return try evaluateControl(context)
        }
    }

    private func evaluateControl(_ context: EvaluationContext) throws(QueryError) -> Value? {
        switch self {
        case .and(let nodes):
            for node in nodes where try !node.evaluate(context).isTruthy { return .bool(false) }
            return .bool(true)
        case .or(let nodes):
            for node in nodes where try node.evaluate(context).isTruthy { return .bool(true) }
            return .bool(false)
        case .condition(let condition, let then, let otherwise):
            return try condition.evaluate(context).isTruthy ? then.evaluate(context) : otherwise.evaluate(context)
        case .choice(let branches, let otherwise):
            for branch in branches where try branch.condition.evaluate(context).isTruthy {
                return try branch.result.evaluate(context)
            }
            guard let otherwise else {
                throw QueryError(
                    code: 40066,
                    message: "$switch could not find a matching branch for an input, and no default was specified.")
            }
            return try otherwise.evaluate(context)
        case .ifNull(let nodes):
            var last: Value?
            for node in nodes {
                last = try node.evaluate(context)
                if !last.isNullish { break }
            }
            return last
        case .binding(let fields, let body):
            var inner = context
            for field in fields {
                let value = try field.value.evaluate(context)
                let size = try ComputedBounds.check(value)
                try context.budget?.spend(size >> 6)
                inner.bind(field.name, to: value)
            }
            return try body.evaluate(inner)
        case .map(let input, let name, let body):
            guard
                let elements = try Self.elements(
                    input.evaluate(context), QueryError(code: 16883, message: "input to $map must be an array not"))
            else {
                return .null
            }
            var results: [Value] = []
            results.reserveCapacity(elements.count)
            let context = context.limited()
            for element in elements {
                try context.budget?.spend(1)
                results.append(try body.evaluate(context.binding(name, to: element)) ?? .null)
            }
            return .array(results)
        case .filter(let input, let name, let condition, let limit):
            return try Self.filter(input, name, condition, limit, context)
        case .reduce(let input, let initial, let body):
            guard
                let elements = try Self.elements(
                    input.evaluate(context),
                    QueryError(code: 40080, message: "$reduce requires that 'input' be an array, found:"))
            else { return .null }
            var result = try initial.evaluate(context)
            let context = context.limited()
            for element in elements {
                result = try body.evaluate(context.binding("this", to: element).binding("value", to: result))
                // The check traverses the whole value.
                try context.budget?.spend(1 + ComputedBounds.check(result) >> 6)
            }
            return result
        case .sortArray(let input, let sort):
            guard
                var elements = try Self.elements(
                    input.evaluate(context),
                    QueryError(
                        code: 2_942_504, message: "The input argument to $sortArray must be an array, but was of type:")
                )
            else { return .null }
            sort.collated(by: context.collation).sort(&elements)
            return .array(elements)
        default: return nil
        }
    }

    private static func elements(_ value: Value?, _ error: QueryError) throws(QueryError) -> [Value]? {
        if value.isNullish { return nil }
        guard case .array(let elements)? = value else {
            throw QueryError(code: error.code, message: "\(error.message) \(value.typeName)")
        }
        return elements
    }

    private static func filter(
        _ input: ExpressionNode, _ name: String, _ condition: ExpressionNode, _ limit: ExpressionNode?,
        _ context: EvaluationContext
    ) throws(QueryError) -> Value? {
        guard
            let elements = try elements(
                input.evaluate(context), QueryError(code: 28651, message: "input to $filter must be an array not"))
        else {
            return .null
        }
        var most = Int.max
        if let limit, let value = try limit.evaluate(context), !value.isNull {
            guard let number = value.intValue, number >= 1 else {
                throw QueryError(code: 327_392, message: "$filter: limit must be greater than 0: \(value)")
            }
            most = number
        }
        var kept: [Value] = []
        let context = context.limited()
        for element in elements {
            if kept.count == most { break }
            try context.budget?.spend(1)
            if try condition.evaluate(context.binding(name, to: element)).isTruthy { kept.append(element) }
        }
        return .array(kept)
    }

    /// The value at a path in an expression: for an array along the path, the array of the values that its documents have there.
    static func value(at path: ArraySlice<Path.Component>, of value: Value?) -> Value? {
        guard let first = path.first else { return value }
        switch value {
        case .document(let document)?:
            guard let index = document.index(of: first.name) else { return nil }
            return Self.value(at: path.dropFirst(), of: document.fields[index].value)
        case .array(let elements)?:
            return .array(
                elements.compactMap { element in
                    // An array directly inside an array isn't traversed.
                    if case .document = element { Self.value(at: path, of: element) } else { nil }
                })
        default: return nil
        }
    }
}

extension EvaluationContext {
    func value(of variable: String) -> Value? {
        switch variable {
        case "CURRENT": current
        case "ROOT": variables["ROOT"] ?? root
        case "NOW": .date(now)
        case "REMOVE": nil
        case "DESCEND", "PRUNE", "KEEP": .string(variable)
        default: variables[variable]
        }
    }
}

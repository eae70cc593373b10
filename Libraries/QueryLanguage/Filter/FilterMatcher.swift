import DocumentModel
import DocumentSchema
import RegularExpressions

/// Evaluates a filter's tree on documents.
struct FilterMatcher {
    /// How strings are compared; `nil` for comparison by their bytes.
    let collation: Collation?
    /// The variables of `$expr`.
    var variables: [ExactText: Value] = [:]
    /// The time of `$$NOW`, in milliseconds since 1970.
    let now: Int64

    /// - Parameter position: is set to the index that the positional operator `$` refers to, if an array was searched.
    func matches(_ node: FilterNode, _ document: Document, _ position: inout Int?) throws(QueryError) -> Bool {
        switch node {
        case .and(let nodes):
            for (index, node) in nodes.enumerated() {
                try QueryError.throwIfInterrupted(every: index)
                guard try matches(node, document, &position) else { return false }
            }
            return true
        case .or(let nodes):
            for (index, node) in nodes.enumerated() {
                try QueryError.throwIfInterrupted(every: index)
                if try matches(node, document, &position) { return true }
            }
            return false
        case .nor(let nodes):
            var ignored: Int?
            for (index, node) in nodes.enumerated() {
                try QueryError.throwIfInterrupted(every: index)
                if try matches(node, document, &ignored) { return false }
            }
            return true
        case .field(let path, let condition): return try matches(condition, document, path.components[...], &position)
        case .expression(let expression):
            return try expression.evaluate(
                EvaluationContext(root: document, variables: variables, now: now, collation: collation)
            ).isTruthy
        case .schema(let schema): return try schema.accepts(.document(document))
        case .constant(let result): return result
        }
    }

    private func matches(
        _ condition: FieldCondition, _ document: Document, _ path: ArraySlice<Path.Component>, _ position: inout Int?
    ) throws(QueryError) -> Bool {
        switch condition {
        case .not(let inner):
            var ignored: Int?
            return try !matches(inner, document, path, &ignored)
        case .allOf(let conditions):
            for condition in conditions where try !matches(condition, document, path, &position) { return false }
            return true
        default: break
        }
        var found: Int?
        let visitor = PathVisitor(entersFinalArray: condition.entersFinalArray) { (value, outer) throws(QueryError) in
            var inner: Int?
            guard try matches(condition, value, &inner) else { return false }
            found = outer ?? inner
            return true
        }
        guard try visitor.walk(document, path) else { return false }
        if let found { position = found }
        return true
    }

    /// Whether the condition holds for the value itself; `nil` is a missing value.
    func matches(_ condition: FieldCondition, _ value: Value?) throws(QueryError) -> Bool {
        var ignored: Int?
        return try matches(condition, value, &ignored)
    }

    private func matches(_ condition: FieldCondition, _ value: Value?, _ position: inout Int?) throws(QueryError)
        -> Bool
    {
        switch condition {
        case .equal(let operand): return isEqual(value, operand)
        case .compare(let comparison, let operand): return compare(value, comparison, operand)
        case .in(let operands, let expressions):
            if isOne(of: operands, value) { return true }
            for expression in expressions where try expression.matches(value) { return true }
            return false
        case .regex(let expression): return try expression.matches(value)
        case .exists: return value != nil
        case .type(let types): return value.map(types.contains) ?? false
        case .size(let size):
            if case .array(let elements)? = value { return elements.count == size } else { return false }
        case .modulo(let divisor, let remainder): return value.map { Self.modulo($0, divisor, remainder) } ?? false
        case .bits(let test): return value.map(test.matches) ?? false
        case .elementMatches(let node):
            guard case .array(let elements)? = value else { return false }
            for (index, element) in elements.enumerated() {
                try QueryError.throwIfInterrupted(every: index)
                var ignored: Int?
                guard let document = Self.document(element), try matches(node, document, &ignored) else { continue }
                position = index
                return true
            }
            return false
        case .elementSatisfies(let conditions):
            guard case .array(let elements)? = value else { return false }
            for (index, element) in elements.enumerated() {
                try QueryError.throwIfInterrupted(every: index)
                guard try satisfies(conditions, element) else { continue }
                position = index
                return true
            }
            return false
        case .allOf(let conditions):
            for condition in conditions where try !matches(condition, value, &position) { return false }
            return true
        case .geo(let geo): return geo.matches(value)
        case .not(let inner): return try !matches(inner, value)
        }
    }

    private func satisfies(_ conditions: [FieldCondition], _ element: Value) throws(QueryError) -> Bool {
        for condition in conditions where try !matches(condition, element) { return false }
        return true
    }

    /// The document that `$elemMatch` with a filter tests: an array becomes a document whose names are the indexes.
    private static func document(_ element: Value) -> Document? {
        switch element {
        case .document(let document): document
        case .array(let elements):
            Document(fields: elements.enumerated().map { Document.Field(String($0.offset), $0.element) })
        default: nil
        }
    }

    private func isOne(of operands: [Value], _ value: Value?) -> Bool {
        if collation != nil || operands.count < 8 { return operands.contains { isEqual(value, $0) } }
        let wanted = value.map { $0.isNull ? Value.null : $0 } ?? .null
        var low = 0, high = operands.count
        while low < high {
            let middle = (low + high) / 2
            if Value.compare(operands[middle], wanted) < 0 { low = middle + 1 } else { high = middle }
        }
        return low < operands.count && operands[low] == wanted
    }

    private func isEqual(_ value: Value?, _ operand: Value) -> Bool {
        guard let value, !value.isNull else { return operand.isNull }
        guard value.typeRank == operand.typeRank else { return false }
        return order(value, operand) == 0
    }

    private func order(_ a: Value, _ b: Value) -> Int { collation.compare(a, b) }

    private func compare(_ value: Value?, _ comparison: FieldCondition.Comparison, _ operand: Value) -> Bool {
        guard let value, !value.isNull else {
            switch operand {
            case .null, .undefined: return comparison == .greaterOrEqual || comparison == .lessOrEqual
            case .minKey: return comparison == .greater || comparison == .greaterOrEqual
            case .maxKey: return comparison == .less || comparison == .lessOrEqual
            default: return false
            }
        }
        if value.typeRank != operand.typeRank {
            // Only MinKey and MaxKey compare with values of other types.
            switch operand {
            case .minKey: return comparison == .greater || comparison == .greaterOrEqual
            case .maxKey: return comparison == .less || comparison == .lessOrEqual
            default: return false
            }
        }
        if value.isNumber, value.isNaN != operand.isNaN { return false }
        let order = order(value, operand)
        switch comparison {
        case .greater: return order > 0
        case .greaterOrEqual: return order >= 0
        case .less: return order < 0
        case .lessOrEqual: return order <= 0
        }
    }

    private static func modulo(_ value: Value, _ divisor: Int64, _ remainder: Int64) -> Bool {
        guard let number = value.truncatedInt64 else { return false }
        // The only quotient that overflows is that of the smallest number and -1.
        return (divisor == -1 ? 0 : number % divisor) == remainder
    }
}

extension FieldCondition {
    /// Whether the condition is also tested on the elements of an array at the end of the path.
    fileprivate var entersFinalArray: Bool {
        switch self {
        case .size, .elementMatches, .elementSatisfies: false
        case .geo: false
        default: true
        }
    }
}

extension RegexCondition {
    func matches(_ value: Value?) throws(QueryError) -> Bool {
        switch value {
        case .string(let text)?, .symbol(let text)?:
            // One match may take milliseconds before it reaches its own limit.
            try QueryError.throwIfInterrupted()
            return try compiled.matches(text)
        case .regex(let other)?:
            return other.pattern.hasSameBytes(as: expression.pattern)
                && other.options.hasSameBytes(as: expression.options)
        default: return false
        }
    }
}

extension Value {
    /// Whether this is a double or decimal NaN.
    var isNaN: Bool {
        switch self {
        case .double(let number): number.isNaN
        case .decimal128(let number): number.isNaN
        default: false
        }
    }

    /// A number truncated to a 64-bit integer; `nil` if it doesn't fit.
    var truncatedInt64: Int64? {
        switch self {
        case .double(let number): Int64(exactly: number.rounded(.towardZero))
        case .decimal128(let number): number.int64Value ?? Int64(exactly: number.doubleValue.rounded(.towardZero))
        default: int64Value
        }
    }
}

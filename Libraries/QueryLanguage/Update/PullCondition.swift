import DocumentModel

/// The elements that `$pull` removes.
enum PullCondition: Sendable {
    /// Elements that are equal to this value.
    case equal(Value)
    /// Elements that satisfy conditions such as `{$gt: 5}` or a regular expression.
    case conditions([FieldCondition])
    /// Elements that are documents and match this filter.
    case filter(Filter)

    init(_ value: Value) throws(QueryError) {
        var parser = FilterParser()
        if case .regex(let expression) = value {
            self = .conditions([.regex(try RegexCondition(expression))])
        } else if case .document(let document) = value {
            let first = document.fields.first?.key
            if FilterParser.isOperators(value), first != "$and", first != "$or", first != "$nor", first != "$expr" {
                self = .conditions(try parser.conditions(document, at: nil))
            } else {
                self = .filter(try Filter(document))
            }
        } else {
            self = .equal(value)
        }
    }

    func matches(_ element: Value, now: Int64) throws(QueryError) -> Bool {
        switch self {
        case .equal(let value): return element == value
        case .conditions(let conditions): return try Filter.matches(conditions, element: element, now: now)
        case .filter(let filter):
            guard case .document(let document) = element else { return false }
            return try filter.evaluate(document, now: now)
        }
    }
}

import DocumentModel

/// The percentiles of `$percentile` and `$median`.
///
/// A percentile is always one of the numbers: the smallest one such that at least the given share of all numbers is not greater.
public struct Percentiles: Sendable {
    /// The shares, from 0 to 1, in the order of the results.
    public let shares: [Double]
    /// Whether the result is a single number, not an array.
    public let isSingle: Bool

    /// Parses the operator's specification into its input and its shares, which must be constant.
    static func parse(_ name: String, _ value: Value) throws(QueryError) -> (input: Value, Percentiles) {
        guard case .document(let document) = value else {
            throw QueryError(
                code: 7_436_201, message: "specification must be an object; found \(name): \(value)")
        }
        let allowed = name == "$median" ? ["input", "method"] : ["input", "method", "p"]
        for field in document.fields where !allowed.contains(field.key) { throw .unknownField("\(name).\(field.key)") }
        for key in allowed where document[key] == nil { throw .missingField("\(name).\(key)") }
        let shares: Value?
        if name == "$median" {
            shares = [0.5]
        } else {
            shares = try Expression(document["p"] ?? .null).evaluate(EvaluationContext(root: Document()))
        }
        return (document["input"] ?? .null, try Percentiles(name, shares: shares, method: document["method"]))
    }

    init(_ name: String, shares: Value?, method: Value?) throws(QueryError) {
        guard method == .string("approximate") else {
            throw .badValue("Currently only 'approximate' can be used as percentile 'method'.")
        }
        let wanted = "The \(name) 'p' field must be an array of numbers from [0.0, 1.0]"
        guard case .array(let elements)? = shares, !elements.isEmpty else {
            throw QueryError(code: 7_750_301, message: "\(wanted), but found: \(shares ?? .null)")
        }
        var numbers: [Double] = []
        for element in elements {
            guard let number = element.doubleValue else {
                throw QueryError(code: 7_750_302, message: "\(wanted), but found: \(element)")
            }
            guard (0...1).contains(number) else {
                throw QueryError(code: 7_750_303, message: "\(wanted), but found: \(element)")
            }
            numbers.append(number)
        }
        self.shares = numbers
        isSingle = name == "$median"
    }

    func result(_ numbers: [Double]) -> Value {
        let sorted = numbers.sorted { Value.compare(.double($0), .double($1)) < 0 }
        let answers = shares.map { share -> Value in
            if sorted.isEmpty { return .null }
            let rank = Int((Double(sorted.count) * share).rounded(.up)) - 1
            return .double(sorted[min(max(rank, 0), sorted.count - 1)])
        }
        return isSingle ? answers[0] : .array(answers)
    }
}

extension ExpressionOperators {
    static let percentiles: [NamedOperator] = [
        NamedOperator("$percentile", ["input", "p", "method"]) { (arguments, _) throws(QueryError) in
            try percentiles("$percentile", arguments, shares: arguments["p"])
        },
        NamedOperator("$median", ["input", "method"]) { (arguments, _) throws(QueryError) in
            try percentiles("$median", arguments, shares: [0.5])
        },
    ]

    /// The percentiles of an array's numbers, or of a single number.
    private static func percentiles(_ name: String, _ arguments: NamedOperator.Arguments, shares: Value?)
        throws(QueryError) -> Value?
    {
        let asked = try Percentiles(name, shares: shares, method: arguments["method"])
        switch arguments["input"] {
        case .array(let elements)?: return asked.result(elements.compactMap(\.doubleValue))
        case let value?: return asked.result([value.doubleValue].compactMap { $0 })
        case nil: return asked.result([])
        }
    }
}

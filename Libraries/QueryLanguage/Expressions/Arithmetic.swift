import DocumentModel

/// Arithmetic with MongoDB's numbers: the result has the wider of both types, and an integer that exceeds 32 bits gets 64.
enum Arithmetic {
    static func add(_ a: Value, _ b: Value) throws(QueryError) -> Value {
        try combine(
            a, b, integers: { $0.addingReportingOverflow($1) }, doubles: { $0 + $1 }, decimals: { $0.adding($1) })
    }

    static func subtract(_ a: Value, _ b: Value) throws(QueryError) -> Value {
        try combine(
            a, b, integers: { $0.subtractingReportingOverflow($1) }, doubles: { $0 - $1 },
            decimals: { $0.adding($1.negated) })
    }

    static func multiply(_ a: Value, _ b: Value) throws(QueryError) -> Value {
        try combine(
            a, b, integers: { $0.multipliedReportingOverflow(by: $1) }, doubles: { $0 * $1 },
            decimals: { $0.multiplied(by: $1) })
    }

    private static func combine(
        _ a: Value, _ b: Value, integers: (Int64, Int64) -> (Int64, Bool), doubles: (Double, Double) -> Double,
        decimals: (Decimal128, Decimal128) -> Decimal128
    ) throws(QueryError) -> Value {
        if a.isDecimal || b.isDecimal {
            guard let left = a.decimalValue, let right = b.decimalValue else { throw notNumbers }
            return .decimal128(decimals(left, right))
        }
        if a.isDouble || b.isDouble {
            guard let left = a.doubleValue, let right = b.doubleValue else { throw notNumbers }
            return .double(doubles(left, right))
        }
        guard let left = a.int64Value, let right = b.int64Value else { throw notNumbers }
        let (result, overflow) = integers(left, right)
        guard !overflow else { throw .badValue("the integer result does not fit in 64 bits") }
        if case .int32 = a, case .int32 = b { return .integer(result) }
        return .int64(result)
    }

    private static var notNumbers: QueryError { .typeMismatch("arithmetic on a value that is not a number") }
}

extension Value {
    var isDouble: Bool { if case .double = self { true } else { false } }
    var isDecimal: Bool { if case .decimal128 = self { true } else { false } }

    /// A number as a decimal; a double with 15 digits, as MongoDB converts it.
    var decimalValue: Decimal128? {
        switch self {
        case .decimal128(let number): number
        case .double(let number): Decimal128(rounding: number)
        default: int64Value.map { Decimal128($0) }
        }
    }
}

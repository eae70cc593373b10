import DocumentModel

/// How rules and schemas compare values.
enum RuleComparison {
    /// Negative, zero or positive as with `Value.compare`; `nil` for values that can't be ordered: values of different kinds, and
    /// NaN. So a comparison with a value of the wrong type never grants access.
    static func order(_ a: Value, _ b: Value) -> Int? {
        guard a.typeRank == b.typeRank, a.doubleValue?.isNaN != true, b.doubleValue?.isNaN != true else { return nil }
        return Value.compare(a, b)
    }
}

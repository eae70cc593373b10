import DocumentModel

/// How rules and schemas compare values.
enum RuleComparison {
    /// Negative, zero or positive as with `Value.compare`; `nil` for values that have no order among each other: different
    /// kinds, and anything with NaN. So a comparison with the wrong type never lets anybody in.
    static func order(_ a: Value, _ b: Value) -> Int? {
        guard a.typeRank == b.typeRank, a.doubleValue?.isNaN != true, b.doubleValue?.isNaN != true else { return nil }
        return Value.compare(a, b)
    }
}

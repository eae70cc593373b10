extension Decimal128 {
    /// Rounds to `place` digits after the decimal point, or before it if negative. A number that has no further digits is
    /// unchanged.
    public func rounded(toPlace place: Int, _ rule: FloatingPointRoundingRule) -> Decimal128 {
        guard case .finite(let negative, let coefficient, let exponent) = parts, exponent < -place else { return self }
        let surplus = -place - exponent
        var quotient: UInt128 = 0
        var hasRest = coefficient != 0
        var half = -1
        if surplus <= Self.maximumDigits {
            let divisor = Self.power(of: surplus)
            let remainder: UInt128
            (quotient, remainder) = coefficient.quotientAndRemainder(dividingBy: divisor)
            hasRest = remainder != 0
            half = Value.order(remainder, divisor / 2)
        }
        let roundsUp =
            switch rule {
            case .up: hasRest && !negative
            case .down: hasRest && negative
            case .towardZero: false
            case .awayFromZero: hasRest
            case .toNearestOrAwayFromZero: half >= 0
            default: half > 0 || half == 0 && quotient % 2 == 1
            }
        if roundsUp { quotient += 1 }
        return Decimal128(negative: negative, coefficient: quotient, exponent: -place) ?? self
    }
}

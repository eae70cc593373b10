extension Decimal128 {
    /// What is left of a division whose quotient is cut to a whole number; exact, with the sign of the dividend. NaN of a division by zero
    /// and of an infinity.
    public func remainder(dividingBy other: Decimal128) -> Decimal128 {
        switch (parts, other.parts) {
        case (.nan, _), (_, .nan), (.infinity, _): return .nan
        case (.finite, .infinity): return self
        case (.finite(let negative, let coefficient, let exponent), .finite(_, let divisor, let divisorExponent)):
            if divisor == 0 { return .nan }
            let lower = min(exponent, divisorExponent)
            let rest: UInt128
            if exponent >= divisorExponent {
                // A divisor has 113 bits at most, so that ten times the rest has its place.
                var part = coefficient % divisor
                for _ in lower..<exponent where part != 0 { part = part * 10 % divisor }
                rest = part
            } else {
                // A divisor of more digits than the dividend has is larger than it.
                guard divisorExponent - lower <= Self.maximumDigits else { return self }
                let (scaled, overflow) = divisor.multipliedReportingOverflow(
                    by: Self.power(of: divisorExponent - lower))
                rest = overflow ? coefficient : coefficient % scaled
            }
            return Decimal128(negative: negative, coefficient: rest, exponent: lower) ?? .nan
        }
    }
}

extension Decimal128 {
    /// The exact remainder of a division with truncated quotient; it has the sign of the dividend. NaN for a division by zero and
    /// for an infinite dividend.
    public func remainder(dividingBy other: Decimal128) -> Decimal128 {
        switch (parts, other.parts) {
        case (.nan, _), (_, .nan), (.infinity, _): return .nan
        case (.finite, .infinity): return self
        case (.finite(let negative, let coefficient, let exponent), .finite(_, let divisor, let divisorExponent)):
            if divisor == 0 { return .nan }
            let lower = min(exponent, divisorExponent)
            let rest: UInt128
            if exponent >= divisorExponent {
                // A divisor has at most 113 bits, so ten times the remainder fits.
                var part = coefficient % divisor
                for _ in lower..<exponent where part != 0 { part = part * 10 % divisor }
                rest = part
            } else {
                // A divisor with more digits than the dividend is larger.
                guard divisorExponent - lower <= Self.maximumDigits else { return self }
                let (scaled, overflow) = divisor.multipliedReportingOverflow(
                    by: Self.power(of: divisorExponent - lower))
                rest = overflow ? coefficient : coefficient % scaled
            }
            return Decimal128(negative: negative, coefficient: rest, exponent: lower) ?? .nan
        }
    }
}

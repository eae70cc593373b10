extension Decimal128 {
    /// The parts that the bits encode: a number is `coefficient * 10^exponent`.
    public enum Parts: Equatable, Sendable {
        case finite(negative: Bool, coefficient: UInt128, exponent: Int)
        case infinity(negative: Bool)
        case nan
    }

    static let maximumCoefficient: UInt128 = 9_999_999_999_999_999_999_999_999_999_999_999
    static let minimumExponent = -6176
    static let maximumExponent = 6111
    static let maximumDigits = 34

    /// Decodes the bits. A coefficient beyond 34 digits is not canonical and counts as zero, as IEEE 754 requires.
    public var parts: Parts {
        let negative = high >> 63 == 1
        let combination = (high >> 58) & 0x1F
        if combination == 0x1F { return .nan }
        if combination == 0x1E { return .infinity(negative: negative) }
        if (high >> 61) & 0x3 == 0x3 {
            return .finite(
                negative: negative, coefficient: 0, exponent: Int((high >> 47) & 0x3FFF) + Self.minimumExponent)
        }
        let coefficient = UInt128(high & 0x1_FFFF_FFFF_FFFF) << 64 | UInt128(low)
        return .finite(
            negative: negative, coefficient: coefficient > Self.maximumCoefficient ? 0 : coefficient,
            exponent: Int((high >> 49) & 0x3FFF) + Self.minimumExponent)
    }

    /// Not a number.
    public static let nan = Decimal128(high: 0x7C00 << 48, low: 0)
    /// Positive infinity.
    public static let infinity = Decimal128(high: 0x7800 << 48, low: 0)
    /// Zero with the exponent 0.
    public static let zero = Decimal128(high: 0x3040 << 48, low: 0)

    /// Whether this is not a number.
    public var isNaN: Bool { parts == .nan }

    /// Encodes a number.
    /// - Returns: `nil` if the coefficient has more than 34 digits or the exponent is out of range.
    public init?(negative: Bool, coefficient: UInt128, exponent: Int) {
        guard coefficient <= Self.maximumCoefficient, exponent >= Self.minimumExponent, exponent <= Self.maximumExponent
        else {
            return nil
        }
        let biased = UInt64(exponent - Self.minimumExponent)
        self.init(
            high: (negative ? 1 << 63 : 0) | biased << 49 | UInt64(truncatingIfNeeded: coefficient >> 64),
            low: UInt64(truncatingIfNeeded: coefficient))
    }

    /// An integer, exactly.
    public init(_ number: Int64) {
        self.init(high: 0x3040 << 48 | (number < 0 ? 1 << 63 : 0), low: number.magnitude)
    }

    /// The number as an integer; `nil` if it isn't a whole number or is out of range.
    public var int64Value: Int64? {
        guard case .finite(let negative, var coefficient, var exponent) = parts else { return nil }
        if coefficient == 0 { return 0 }
        while exponent < 0 {
            guard coefficient % 10 == 0 else { return nil }
            coefficient /= 10
            exponent += 1
        }
        let limit = UInt128(Int64.max) + (negative ? 1 : 0)
        for _ in 0..<min(exponent, 20) where coefficient <= limit { coefficient *= 10 }
        guard coefficient <= limit else { return nil }
        return negative ? Int64(truncatingIfNeeded: 0 &- coefficient) : Int64(coefficient)
    }

    /// The nearest double.
    public var doubleValue: Double {
        switch parts {
        case .nan: return .nan
        case .infinity(let negative): return negative ? -.infinity : .infinity
        case .finite(let negative, let coefficient, let exponent):
            // The conversion from text rounds correctly; numbers of this type are rare enough that its speed doesn't matter.
            let magnitude = Double("\(coefficient)e\(exponent)") ?? (coefficient == 0 || exponent < 0 ? 0 : .infinity)
            return negative ? -magnitude : magnitude
        }
    }

    /// Compares by value: 1.0 and 1.00 are equal; NaN is less than all other numbers and equal to itself.
    public static func compare(_ a: Decimal128, _ b: Decimal128) -> Int {
        switch (a.parts, b.parts) {
        case (.nan, .nan): return 0
        case (.nan, _): return -1
        case (_, .nan): return 1
        case (.infinity(let a), .infinity(let b)): return Value.order(a ? 0 : 1, b ? 0 : 1)
        case (.infinity(let negative), _): return negative ? -1 : 1
        case (_, .infinity(let negative)): return negative ? 1 : -1
        case (
            .finite(let leftNegative, let left, let leftExponent),
            .finite(let rightNegative, let right, let rightExponent)
        ):
            if left == 0 || right == 0 {
                let leftSign = left == 0 ? 0 : leftNegative ? -1 : 1
                let rightSign = right == 0 ? 0 : rightNegative ? -1 : 1
                return Value.order(leftSign, rightSign)
            }
            if leftNegative != rightNegative { return leftNegative ? -1 : 1 }
            let magnitude = compareMagnitudes(left, leftExponent, right, rightExponent)
            return leftNegative ? -magnitude : magnitude
        }
    }

    private static func compareMagnitudes(_ a: UInt128, _ aExponent: Int, _ b: UInt128, _ bExponent: Int) -> Int {
        let aTop = digits(a) + aExponent, bTop = digits(b) + bExponent
        if aTop != bTop { return Value.order(aTop, bTop) }
        // The leading digits have the same place value, so the difference of the exponents is below 34 and the scaled coefficient
        // fits.
        return aExponent > bExponent
            ? Value.order(a * power(of: aExponent - bExponent), b)
            : Value.order(a, b * power(of: bExponent - aExponent))
    }

    static func digits(_ number: UInt128) -> Int {
        var count = 1, rest = number
        while rest >= 10 { rest /= 10; count += 1 }
        return count
    }

    static func power(of exponent: Int) -> UInt128 {
        var result: UInt128 = 1
        for _ in 0..<exponent { result *= 10 }
        return result
    }
}

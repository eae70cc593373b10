import DocumentModel

/// A changeset has the fields of a decimal's 128 bits (IEEE 754-2019, 3.5.2, binary encoding) as three numbers: the 113 bits of the
/// coefficient, the 14 bits of the exponent without its bias, and the sign. Infinity and NaN have exponents of their own.
extension Decimal128 {
    private static let bias: Int64 = 6176

    /// - Returns: nil if a field has more bits.
    init?(realmCoefficient coefficient: UInt128, exponent: Int64, isNegative: Bool) {
        guard coefficient >> 113 == 0, (-Self.bias..<(1 << 14) - Self.bias).contains(exponent) else { return nil }
        let fields = UInt64(exponent + Self.bias) << 49 | (isNegative ? 1 << 63 : 0)
        self.init(
            high: UInt64(truncatingIfNeeded: coefficient >> 64) | fields, low: UInt64(truncatingIfNeeded: coefficient))
    }

    var realmCoefficient: UInt128 { UInt128(high & (1 << 49 - 1)) << 64 | UInt128(low) }
    var realmExponent: Int64 { Int64(high >> 49 & 0x3FFF) - Self.bias }
    var isNegative: Bool { high >> 63 == 1 }
}

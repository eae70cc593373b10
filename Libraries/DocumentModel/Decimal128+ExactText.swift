import Texts

extension Decimal128 {
    /// The text form, followed by the bits in hexadecimal if the text alone means other bits:
    /// `NaN:7c000000000000000000000000000012`.
    var exactText: String {
        let text = description
        if Decimal128(text) == self { return text }
        return "\(text):\(Hex.text(high))\(Hex.text(low))"
    }

    /// Parses an ``exactText`` that contains bits.
    /// - Returns: `nil` if there are no bits, or they belong to another number.
    init?(exactText text: String) {
        let parts = text.split(separator: ":", omittingEmptySubsequences: false)
        guard parts.count == 2, parts[1].utf8.count == 32,
            parts[1].utf8.allSatisfy({ $0 &- 0x30 < 10 || $0 &- 0x61 < 6 }),
            let high = UInt64(parts[1].prefix(16), radix: 16), let low = UInt64(parts[1].suffix(16), radix: 16)
        else { return nil }
        self.init(high: high, low: low)
        guard exactText == text else { return nil }
    }
}

extension Decimal128 {
    /// The text form, and behind it the bits in hexadecimal where the text stands for others: `NaN:7c000000000000000000000000000012`.
    var exactText: String {
        let text = description
        if Decimal128(text) == self { return text }
        return "\(text):\(Self.hex(high))\(Self.hex(low))"
    }

    /// Reads ``exactText`` with its bits.
    /// - Returns: `nil` where there are none, or they are those of another number.
    init?(exactText text: String) {
        let parts = text.split(separator: ":", omittingEmptySubsequences: false)
        guard parts.count == 2, parts[1].utf8.count == 32,
            parts[1].utf8.allSatisfy({ $0 &- 0x30 < 10 || $0 &- 0x61 < 6 }),
            let high = UInt64(parts[1].prefix(16), radix: 16), let low = UInt64(parts[1].suffix(16), radix: 16)
        else { return nil }
        self.init(high: high, low: low)
        guard exactText == text else { return nil }
    }

    private static func hex(_ word: UInt64) -> String {
        let digits = String(word, radix: 16)
        return String(repeating: "0", count: 16 - digits.count) + digits
    }
}

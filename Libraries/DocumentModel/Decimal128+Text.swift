extension Decimal128: CustomStringConvertible {
    /// The text form of the BSON specification for decimal128: plain if it is short, else scientific.
    public var description: String {
        switch parts {
        case .nan: return "NaN"
        case .infinity(let negative): return negative ? "-Infinity" : "Infinity"
        case .finite(let negative, let coefficient, let exponent):
            let sign = negative ? "-" : ""
            let digits = String(coefficient)
            let scientific = exponent + digits.utf8.count - 1
            if exponent > 0 || scientific < -6 {
                var text = sign + digits.prefix(1)
                if digits.utf8.count > 1 { text += "." + digits.dropFirst() }
                return text + "E" + (scientific < 0 ? "" : "+") + String(scientific)
            }
            if exponent == 0 { return sign + digits }
            let whole = digits.utf8.count + exponent
            if whole > 0 { return sign + digits.prefix(whole) + "." + digits.dropFirst(whole) }
            return sign + "0." + String(repeating: "0", count: -whole) + digits
        }
    }

    /// Parses the text form. Digits beyond 34 are accepted only if they are zeros.
    /// - Parameter rounding: whether to round half to even instead of refusing a number without an exact form.
    /// - Returns: `nil` if the text isn't a number, or has no exact form within 34 digits and the exponent's range.
    public init?(_ text: some StringProtocol, rounding: Bool = false) {
        var rest = Substring(text).utf8[...]
        var negative = false
        if let sign = rest.first, sign == UInt8(ascii: "-") || sign == UInt8(ascii: "+") {
            negative = sign == UInt8(ascii: "-")
            rest = rest.dropFirst()
        }
        if let special = Self.special(Substring(rest), negative: negative) { self = special; return }
        var digits: [UInt8] = []
        var exponent = 0, seenDigit = false, seenPoint = false
        while let byte = rest.first {
            if byte >= UInt8(ascii: "0"), byte <= UInt8(ascii: "9") {
                seenDigit = true
                if byte != UInt8(ascii: "0") || !digits.isEmpty { digits.append(byte - UInt8(ascii: "0")) }
                if seenPoint { exponent -= 1 }
            } else if byte == UInt8(ascii: "."), !seenPoint {
                seenPoint = true
            } else {
                break
            }
            rest = rest.dropFirst()
        }
        guard seenDigit else { return nil }
        if let mark = rest.first {
            guard mark == UInt8(ascii: "e") || mark == UInt8(ascii: "E") else { return nil }
            guard let power = Self.exponent(rest.dropFirst()) else { return nil }
            exponent += power
        }
        self.init(negative: negative, digits: digits, exponent: exponent, rounding: rounding)
    }

    /// The number with these digits (0–9, no leading zero), scaled into the exponent's range.
    init?(negative: Bool, digits: [UInt8], exponent: Int, rounding: Bool) {
        var digits = digits, exponent = exponent
        if digits.isEmpty {
            let clamped = min(max(exponent, Self.minimumExponent), Self.maximumExponent)
            self.init(negative: negative, coefficient: 0, exponent: clamped)
            return
        }
        let surplus = max(digits.count - Self.maximumDigits, Self.minimumExponent - exponent)
        if surplus > 0 {
            guard let rounded = Self.dropping(surplus, of: digits, rounding: rounding) else { return nil }
            digits = rounded
            exponent += surplus
            if digits.count > Self.maximumDigits { digits.removeLast(); exponent += 1 }
        }
        var coefficient: UInt128 = 0
        for digit in digits { coefficient = coefficient * 10 + UInt128(digit) }
        if coefficient == 0 { exponent = min(max(exponent, Self.minimumExponent), Self.maximumExponent) }
        while exponent > Self.maximumExponent, coefficient <= Self.maximumCoefficient / 10 {
            coefficient *= 10
            exponent -= 1
        }
        if exponent > Self.maximumExponent {
            guard rounding else { return nil }
            self = negative ? Decimal128(high: 0xF800 << 48, low: 0) : .infinity
            return
        }
        self.init(negative: negative, coefficient: coefficient, exponent: exponent)
    }

    private static func dropping(_ count: Int, of digits: [UInt8], rounding: Bool) -> [UInt8]? {
        let kept = max(0, digits.count - count)
        let dropped = digits[kept...]
        if dropped.allSatisfy({ $0 == 0 }) { return Array(digits[..<kept]) }
        guard rounding else { return nil }
        var result = Array(digits[..<kept])
        let first = count > digits.count ? 0 : dropped.first ?? 0
        let isTie = first == 5 && dropped.dropFirst().allSatisfy { $0 == 0 }
        let roundsUp = isTie ? (result.last ?? 0) % 2 == 1 : first >= 5
        guard roundsUp else { return result }
        for index in result.indices.reversed() {
            if result[index] < 9 { result[index] += 1; return result }
            result[index] = 0
        }
        return [1] + result
    }

    private static func special(_ text: Substring, negative: Bool) -> Decimal128? {
        switch text.lowercased() {
        case "nan": .nan
        case "inf", "infinity": negative ? Decimal128(high: 0xF800 << 48, low: 0) : .infinity
        default: nil
        }
    }

    private static func exponent(_ text: Substring.UTF8View.SubSequence) -> Int? {
        var rest = text
        var negative = false
        if let sign = rest.first, sign == UInt8(ascii: "-") || sign == UInt8(ascii: "+") {
            negative = sign == UInt8(ascii: "-")
            rest = rest.dropFirst()
        }
        guard !rest.isEmpty else { return nil }
        var value = 0
        for byte in rest {
            guard byte >= UInt8(ascii: "0"), byte <= UInt8(ascii: "9") else { return nil }
            // The exponent is far out of range already, so more digits make no difference.
            if value < 1_000_000 { value = value * 10 + Int(byte - UInt8(ascii: "0")) }
        }
        return negative ? -value : value
    }

    /// The exact value of a double, rounded half to even to 34 digits.
    init(exactValueOf number: Double) {
        if number.isNaN { self = .nan; return }
        let negative = number.sign == .minus
        if number.isInfinite { self = negative ? Decimal128(high: 0xF800 << 48, low: 0) : .infinity; return }
        // number = significand * 2^power; below one, 2^-k = 5^k / 10^k.
        let significand = number.significandBitPattern | (number.isNormal ? 1 << 52 : 0)
        let power = (number.exponentBitPattern == 0 ? 1 : Int(number.exponentBitPattern)) - 1075
        var words = DecimalDigits(significand)
        words.multiply(by: power < 0 ? 5 : 2, times: abs(power))
        self = Decimal128(negative: negative, digits: words.digits, exponent: min(power, 0), rounding: true) ?? .nan
    }
}

/// An unsigned integer of any size, in words of nine decimal digits, lowest first.
private struct DecimalDigits {
    private var words: [UInt64] = []

    init(_ number: UInt64) {
        var rest = number
        while rest > 0 { words.append(rest % 1_000_000_000); rest /= 1_000_000_000 }
    }

    mutating func multiply(by factor: UInt64, times: Int) {
        var rest = times
        while rest > 0 {
            // A word has room for nine digits times 5^13 or 2^13, and the carry.
            let step = min(rest, 13)
            var product: UInt64 = 1
            for _ in 0..<step { product *= factor }
            var carry: UInt64 = 0
            for index in words.indices {
                let value = words[index] * product + carry
                words[index] = value % 1_000_000_000
                carry = value / 1_000_000_000
            }
            while carry > 0 { words.append(carry % 1_000_000_000); carry /= 1_000_000_000 }
            rest -= step
        }
    }

    var digits: [UInt8] {
        var result: [UInt8] = []
        for (index, word) in words.reversed().enumerated() {
            let text = Array(String(word).utf8)
            if index > 0 { result += [UInt8](repeating: 0, count: 9 - text.count) }
            result += text.map { $0 - UInt8(ascii: "0") }
        }
        return result
    }
}

import Texts

/// Strings and numbers.
extension JSONParser {
    /// Reads the string whose opening quote is at the position.
    mutating func string() throws(ExtendedJSONError) -> String {
        let start = position &+ 1
        let (stop, isASCII) = JSONText.plainRun(base, from: start, to: end)
        guard stop < end, base[stop] == UInt8(ascii: "\"") else {
            return try escapedString(from: start, firstStop: stop)
        }
        position = stop &+ 1
        guard isASCII || UTF8Check.isValid(base + start, stop &- start) else { throw notUTF8(at: start) }
        return String(decoding: UnsafeBufferPointer(start: base + start, count: stop &- start), as: UTF8.self)
    }

    private func notUTF8(at offset: Int) -> ExtendedJSONError {
        ExtendedJSONError(.badEncoding, at: offset, "the string is not UTF-8")
    }

    @inline(never)
    private mutating func escapedString(from start: Int, firstStop: Int) throws(ExtendedJSONError) -> String {
        var bytes: [UInt8] = []
        var from = start, stop = firstStop
        while true {
            bytes.append(contentsOf: UnsafeBufferPointer(start: base + from, count: stop &- from))
            position = stop
            guard stop < end else { throw fault(.unexpectedEnd, "the text ends inside a string") }
            if base[stop] == UInt8(ascii: "\"") { break }
            guard base[stop] == UInt8(ascii: "\\") else { throw fault(.badString, "a control character in a string") }
            try escape(into: &bytes)
            from = position
            stop = JSONText.endOfPlain(base, from: from, to: end)
        }
        position = stop &+ 1
        let text = bytes.withUnsafeBufferPointer { bytes in
            bytes.baseAddress.flatMap { UTF8Check.string($0, bytes.count) }
        }
        guard let text else { throw notUTF8(at: start) }
        return text
    }

    /// Reads the escape whose backslash is at the position.
    private mutating func escape(into bytes: inout [UInt8]) throws(ExtendedJSONError) {
        guard position + 1 < end else { throw fault(.unexpectedEnd, "the text ends inside a string") }
        let mark = base[position + 1]
        switch mark {
        case UInt8(ascii: "\""), UInt8(ascii: "\\"), UInt8(ascii: "/"): bytes.append(mark)
        case UInt8(ascii: "b"): bytes.append(0x08)
        case UInt8(ascii: "f"): bytes.append(0x0C)
        case UInt8(ascii: "n"): bytes.append(0x0A)
        case UInt8(ascii: "r"): bytes.append(0x0D)
        case UInt8(ascii: "t"): bytes.append(0x09)
        case UInt8(ascii: "u"):
            bytes.append(contentsOf: String(Character(try unicodeEscape())).utf8)
            return
        default: throw fault(.badString, "an unknown escape")
        }
        position += 2
    }

    private mutating func unicodeEscape() throws(ExtendedJSONError) -> Unicode.Scalar {
        let first = try codeUnit()
        if let scalar = Unicode.Scalar(first) { return scalar }
        // The first half of a surrogate pair: the second half has to follow.
        guard first < 0xDC00, stands("\\u", at: position) else { throw fault(.badString, "half of a surrogate pair") }
        let second = try codeUnit()
        guard second >= 0xDC00, second < 0xE000,
            let scalar = Unicode.Scalar(0x10000 + (UInt32(first) - 0xD800) << 10 + (UInt32(second) - 0xDC00))
        else { throw fault(.badString, "half of a surrogate pair") }
        return scalar
    }

    private mutating func codeUnit() throws(ExtendedJSONError) -> UInt16 {
        guard position + 6 <= end else { throw fault(.unexpectedEnd, "the text ends inside a string") }
        var unit: UInt16 = 0
        for index in position + 2..<position + 6 {
            let digit = Hex.value(base[index])
            guard digit < 16 else { throw fault(.badString, "a wrong digit in an escape") }
            unit = unit << 4 | UInt16(digit)
        }
        position += 6
        return unit
    }

    /// Reads a plain number: an integer of 32 or 64 bits if it is whole and fits, else a double.
    mutating func number() throws(ExtendedJSONError) -> Value {
        let start = position
        let scanned = try scanNumber()
        if scanned.isWhole, let integer = scanned.integer {
            if integer == 0, base[start] == UInt8(ascii: "-") { return .double(-0.0) }
            return .integer(integer)
        }
        return .double(
            try scanned.double(base, fault: { ExtendedJSONError(.badNumber, at: start, "the number is out of range") }))
    }

    /// The parts of a number's text, before it is converted.
    struct ScannedNumber {
        var start: Int
        var stop: Int
        var isNegative: Bool
        var isWhole: Bool
        /// All digits as an integer; `nil` if there are too many.
        var digits: UInt64?
        /// The exponent of the power of ten by which the digits are multiplied.
        var exponent: Int

        var integer: Int64? {
            guard let digits else { return nil }
            if isNegative { return digits <= 1 << 63 ? Int64(truncatingIfNeeded: 0 &- digits) : nil }
            return Int64(exactly: digits)
        }

        private static let powers: [Double] = (0...22).map { exponent in
            (0..<exponent).reduce(1.0) { result, _ in result * 10 }
        }

        func double(_ base: UnsafePointer<UInt8>, fault: () -> ExtendedJSONError) throws(ExtendedJSONError) -> Double {
            // Both factors are exact doubles, so a single rounding gives the nearest double.
            if let digits, digits < 1 << 53, exponent >= -22, exponent <= 22 {
                let magnitude = Double(digits)
                let number = exponent < 0 ? magnitude / Self.powers[-exponent] : magnitude * Self.powers[exponent]
                return isNegative ? -number : number
            }
            let text = String(decoding: UnsafeBufferPointer(start: base + start, count: stop - start), as: UTF8.self)
            guard let number = Double(text), number.isFinite else { throw fault() }
            return number
        }
    }

    /// Scans the number at the position by JSON's grammar.
    mutating func scanNumber() throws(ExtendedJSONError) -> ScannedNumber {
        let start = position
        var index = position
        let isNegative = index < end && base[index] == UInt8(ascii: "-")
        if isNegative { index &+= 1 }
        var digits: UInt64 = 0
        var isExact = true, isWhole = true
        var exponent = 0
        let wholeStart = index
        while index < end, base[index] &- 0x30 < 10 {
            Self.append(base[index] &- 0x30, to: &digits, &isExact)
            index &+= 1
        }
        let wholeCount = index &- wholeStart
        guard wholeCount > 0, wholeCount == 1 || base[wholeStart] != 0x30 else {
            throw fault(.badNumber, "not a number")
        }
        if index < end, base[index] == UInt8(ascii: ".") {
            isWhole = false
            index &+= 1
            let fractionStart = index
            while index < end, base[index] &- 0x30 < 10 {
                Self.append(base[index] &- 0x30, to: &digits, &isExact)
                index &+= 1
            }
            exponent = fractionStart &- index
            guard exponent < 0 else { throw fault(.badNumber, "not a number") }
        }
        if index < end, base[index] | 0x20 == UInt8(ascii: "e") {
            isWhole = false
            index &+= 1
            var isNegativeExponent = false
            if index < end, base[index] == UInt8(ascii: "-") || base[index] == UInt8(ascii: "+") {
                isNegativeExponent = base[index] == UInt8(ascii: "-")
                index &+= 1
            }
            let powerStart = index
            var power = 0
            while index < end, base[index] &- 0x30 < 10 {
                if power < 100_000 { power = power &* 10 &+ Int(base[index] &- 0x30) }
                index &+= 1
            }
            guard index > powerStart else { throw fault(.badNumber, "not a number") }
            exponent &+= isNegativeExponent ? -power : power
        }
        position = index
        return ScannedNumber(
            start: start, stop: index, isNegative: isNegative, isWhole: isWhole, digits: isExact ? digits : nil,
            exponent: exponent)
    }

    @inline(__always)
    private static func append(_ digit: UInt8, to digits: inout UInt64, _ isExact: inout Bool) {
        guard digits < 1_000_000_000_000_000_000 else { isExact = isExact && fits(digit, &digits); return }
        digits = digits &* 10 &+ UInt64(digit)
    }

    private static func fits(_ digit: UInt8, _ digits: inout UInt64) -> Bool {
        let (product, tooLarge) = digits.multipliedReportingOverflow(by: 10)
        let (sum, tooLargeSum) = product.addingReportingOverflow(UInt64(digit))
        guard !tooLarge, !tooLargeSum else { return false }
        digits = sum
        return true
    }
}

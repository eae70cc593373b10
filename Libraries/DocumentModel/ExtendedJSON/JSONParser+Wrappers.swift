import Texts

/// Fast reading of the common type wrappers in their usual form, without building a document. For any other form the result is
/// `nil`; then the caller reads the object as a document, and `TypeWrapper` interprets it.
extension JSONParser {
    /// Reads the wrapper whose first key (beginning with `$`) is at the position; afterwards the position is after the wrapper.
    mutating func wrapper() -> Value? {
        let key = position &+ 2
        if stands("oid\"", at: key) { return objectId(from: key &+ 4) }
        if stands("numberInt\"", at: key) {
            guard let number = quotedInteger(from: key &+ 10), let narrow = Int32(exactly: number) else { return nil }
            return close() ? .int32(narrow) : nil
        }
        if stands("numberLong\"", at: key) {
            guard let number = quotedInteger(from: key &+ 11) else { return nil }
            return close() ? .int64(number) : nil
        }
        if stands("numberDouble\"", at: key) { return quotedDouble(from: key &+ 13) }
        if stands("date\"", at: key) { return date(from: key &+ 5) }
        return nil
    }

    /// Skips a colon, and the white space around it.
    private mutating func colon(from place: Int) -> Bool {
        position = place
        skipSpace()
        guard position < end, base[position] == UInt8(ascii: ":") else { return false }
        position &+= 1
        skipSpace()
        return position < end
    }

    private mutating func close() -> Bool {
        skipSpace()
        guard position < end, base[position] == UInt8(ascii: "}") else { return false }
        position &+= 1
        return true
    }

    private mutating func objectId(from place: Int) -> Value? {
        guard colon(from: place), position &+ 26 <= end, base[position] == UInt8(ascii: "\""),
            base[position &+ 25] == UInt8(ascii: "\"")
        else {
            return nil
        }
        guard let id = ObjectId(hexDigits: base + (position &+ 1)) else { return nil }
        position &+= 26
        return close() ? .objectId(id) : nil
    }

    private mutating func quotedInteger(from place: Int) -> Int64? {
        guard colon(from: place), base[position] == UInt8(ascii: "\"") else { return nil }
        var index = position &+ 1
        let isNegative = index < end && base[index] == UInt8(ascii: "-")
        if isNegative { index &+= 1 }
        let first = index
        var magnitude: UInt64 = 0
        while index < end, index &- first < 19 {
            let digit = base[index] &- 0x30
            if digit > 9 { break }
            magnitude = magnitude &* 10 &+ UInt64(digit)
            index &+= 1
        }
        guard index > first, index < end, base[index] == UInt8(ascii: "\"") else { return nil }
        position = index &+ 1
        if isNegative { return magnitude <= 1 << 63 ? Int64(truncatingIfNeeded: 0 &- magnitude) : nil }
        return Int64(exactly: magnitude)
    }

    private mutating func quotedDouble(from place: Int) -> Value? {
        guard colon(from: place), base[position] == UInt8(ascii: "\"") else { return nil }
        position &+= 1
        // An error here is reported precisely when the object is read as a document.
        guard let scanned = try? scanNumber(), position < end, base[position] == UInt8(ascii: "\"") else { return nil }
        position &+= 1
        guard let number = try? scanned.double(base, fault: { fault(.badNumber, "") }), close() else { return nil }
        return .double(number)
    }

    private mutating func date(from place: Int) -> Value? {
        guard colon(from: place) else { return nil }
        if base[position] == UInt8(ascii: "{") {
            position &+= 1
            skipSpace()
            guard stands("\"$numberLong\"", at: position), let milliseconds = quotedInteger(from: position &+ 13),
                close(), close()
            else {
                return nil
            }
            return .date(milliseconds)
        }
        guard base[position] == UInt8(ascii: "\"") else { return nil }
        let start = position &+ 1
        let stop = JSONText.endOfPlain(base, from: start, to: end)
        guard stop < end, base[stop] == UInt8(ascii: "\""),
            let milliseconds = ISODate.milliseconds(UnsafeBufferPointer(start: base + start, count: stop &- start))
        else { return nil }
        position = stop &+ 1
        return close() ? .date(milliseconds) : nil
    }
}

extension ObjectId {
    /// The id with the 24 digits at this address, all of which must be readable.
    init?(hexDigits digits: UnsafePointer<UInt8>) {
        var high: UInt64 = 0, low: UInt32 = 0
        var bad: UInt8 = 0
        for index in 0..<16 {
            let value = Hex.value(digits[index])
            bad |= value
            high = high << 4 | UInt64(value & 15)
        }
        for index in 16..<24 {
            let value = Hex.value(digits[index])
            bad |= value
            low = low << 4 | UInt32(value & 15)
        }
        guard bad < 16 else { return nil }
        self.init(high: high, low: low)
    }
}

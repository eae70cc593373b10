extension Value {
    /// The unique text form of a value that may be an `_id` or a partition value: a type letter, a colon, the value. `s:` string,
    /// `o:` ObjectId (hex), `u:` UUID, `l:` integer. Two values are the same key exactly if their texts are equal (as for a 32-bit
    /// and a 64-bit integer of the same number). `nil` for types that can't be a key.
    public var keyText: String? {
        switch self {
        case .string(let text): "s:" + text
        case .objectId(let id): "o:" + id.hexString
        case .int32(let number): "l:\(number)"
        case .int64(let number): "l:\(number)"
        case .binary(let binary) where binary.subtype == 4 && binary.bytes.count == 16: "u:" + binary.uuidString
        default: nil
        }
    }

    /// The value with this text; `nil` if the text isn't a key text. Integers become 64-bit ones.
    public init?(keyText: some StringProtocol) {
        // Compared by bytes: a combining mark after the colon would form one character with it.
        let bytes = keyText.utf8
        guard let letter = bytes.first, bytes.dropFirst().first == UInt8(ascii: ":") else { return nil }
        let rest = String(decoding: bytes.dropFirst(2), as: UTF8.self)
        switch letter {
        case UInt8(ascii: "s"): self = .string(rest)
        case UInt8(ascii: "o"): guard let id = ObjectId(hexString: rest) else { return nil }; self = .objectId(id)
        case UInt8(ascii: "l"): guard let number = Int64(rest) else { return nil }; self = .int64(number)
        case UInt8(ascii: "u"): guard let uuid = Binary(uuidString: rest) else { return nil }; self = .binary(uuid)
        default: return nil
        }
    }
}

extension ObjectId {
    /// 24 lower-case hexadecimal digits.
    public var hexString: String {
        String(unsafeUninitializedCapacity: 24) { output in
            for index in 0..<16 {
                output[index] = Hex.digit(UInt8(truncatingIfNeeded: high >> UInt64(60 - 4 * index)) & 15)
            }
            for index in 0..<8 {
                output[16 + index] = Hex.digit(UInt8(truncatingIfNeeded: low >> UInt32(28 - 4 * index)) & 15)
            }
            return 24
        }
    }

    /// The id with 24 hexadecimal digits, in upper or lower case.
    public init?(hexString: String) {
        var text = hexString
        let id = text.withUTF8 { bytes in
            bytes.count == 24 ? bytes.baseAddress.flatMap { ObjectId(hexDigits: $0) } : nil
        }
        guard let id else { return nil }
        self = id
    }
}

extension Binary {
    /// The text form of a UUID (RFC 9562) in lower case; meaningful only for 16 bytes.
    public var uuidString: String {
        var text = ""
        for (index, byte) in bytes.enumerated() {
            if index == 4 || index == 6 || index == 8 || index == 10 { text += "-" }
            text += (byte < 16 ? "0" : "") + String(byte, radix: 16)
        }
        return text
    }

    public init?(uuidString: String) {
        let digits = Array(uuidString.utf8).filter { $0 != UInt8(ascii: "-") }
        guard uuidString.utf8.count == 36, digits.count == 32 else { return nil }
        var bytes: [UInt8] = []
        for index in stride(from: 0, to: 32, by: 2) {
            guard let byte = UInt8(String(decoding: digits[index..<index + 2], as: UTF8.self), radix: 16) else {
                return nil
            }
            bytes.append(byte)
        }
        self.init(bytes, subtype: 4)
    }
}

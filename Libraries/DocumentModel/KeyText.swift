import Texts

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

    /// The value with this text; `nil` if the text isn't a key text, such as `l:+5`, or an ObjectId with capital letters: each key has one
    /// text. Integers become 64-bit ones.
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
        // The others aren't strings, whose text can't be another one.
        if letter != UInt8(ascii: "s"), self.keyText?.utf8.elementsEqual(bytes) != true { return nil }
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
            text += Hex.text(CollectionOfOne(byte))
        }
        return text
    }

    /// Parses the text form of a UUID (RFC 9562, section 4), in upper or lower case.
    public init?(uuidString: String) {
        let groups = uuidString.utf8.split(separator: UInt8(ascii: "-"), omittingEmptySubsequences: false)
        guard groups.map(\.count) == [8, 4, 4, 4, 12], let bytes = Hex.bytes(groups.joined().map { $0 }) else {
            return nil
        }
        self.init(bytes, subtype: 4)
    }
}

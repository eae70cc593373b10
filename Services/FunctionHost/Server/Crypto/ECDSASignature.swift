/// The two numbers of an ECDSA signature, most significant byte first, without leading zeros.
struct ECDSASignature {
    private let r: [UInt8]
    private let s: [UInt8]

    /// Parses DER: a sequence of two integers.
    init?(der: [UInt8]) {
        var rest = der[...]
        guard let sequence = Self.element(0x30, &rest), rest.isEmpty else { return nil }
        var inner = sequence
        guard let r = Self.element(0x02, &inner), let s = Self.element(0x02, &inner), inner.isEmpty else { return nil }
        self.r = Array(r.drop { $0 == 0 })
        self.s = Array(s.drop { $0 == 0 })
    }

    /// Splits two concatenated numbers of `bytes` bytes each.
    init?(joined: [UInt8], bytes: Int) {
        guard bytes > 0, joined.count == 2 * bytes else { return nil }
        r = Array(joined.prefix(bytes).drop { $0 == 0 })
        s = Array(joined.suffix(bytes).drop { $0 == 0 })
    }

    /// The two numbers concatenated, each of `bytes` bytes; `nil` when one is longer.
    func joined(bytes: Int) -> [UInt8]? {
        guard r.count <= bytes, s.count <= bytes else { return nil }
        return [r, s].flatMap { [UInt8](repeating: 0, count: bytes - $0.count) + $0 }
    }

    var der: [UInt8] {
        let integers = [r, s].flatMap { number -> [UInt8] in
            let needsZero = (number.first ?? 0x80) >= 0x80
            return Self.header(0x02, number.count + (needsZero ? 1 : 0)) + (needsZero ? [0] : []) + number
        }
        return Self.header(0x30, integers.count) + integers
    }

    private static func header(_ tag: UInt8, _ count: Int) -> [UInt8] {
        count < 0x80 ? [tag, UInt8(count)] : [tag, 0x81, UInt8(truncatingIfNeeded: count)]
    }

    /// Removes an element with this tag from the front and returns its contents.
    private static func element(_ tag: UInt8, _ rest: inout ArraySlice<UInt8>) -> ArraySlice<UInt8>? {
        guard rest.popFirst() == tag, let first = rest.popFirst() else { return nil }
        var count = Int(first)
        if first == 0x81 {
            guard let long = rest.popFirst() else { return nil }
            count = Int(long)
        } else if first > 0x7f {
            return nil
        }
        guard rest.count >= count else { return nil }
        defer { rest = rest.dropFirst(count) }
        return rest.prefix(count)
    }
}

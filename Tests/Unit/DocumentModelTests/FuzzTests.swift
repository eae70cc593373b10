import DocumentModel
import Testing

/// Seeded fuzzing of the parsers. A failure names the seed, which reproduces it.
@Suite struct FuzzTests {
    /// SplitMix64.
    struct Generator: RandomNumberGenerator {
        var state: UInt64

        mutating func next() -> UInt64 {
            state &+= 0x9E37_79B9_7F4A_7C15
            var z = state
            z = (z ^ z >> 30) &* 0xBF58_476D_1CE4_E5B9
            z = (z ^ z >> 27) &* 0x94D0_49BB_1331_11EB
            return z ^ z >> 31
        }

        mutating func value(depth: Int) -> Value {
            switch UInt8.random(in: 0..<(depth > 4 ? 17 : 20), using: &self) {
            case 0: return .null
            case 1: return .bool(Bool.random(using: &self))
            case 2: return .int32(Int32(truncatingIfNeeded: next()))
            case 3: return .int64(Int64(bitPattern: next()))
            case 4: return .double(Double(bitPattern: next()))
            case 5: return .string(text())
            case 6: return .objectId(ObjectId(high: next(), low: UInt32(truncatingIfNeeded: next())))
            case 7: return .date(Int64(bitPattern: next()) >> Int64.random(in: 0..<40, using: &self))
            case 8:
                return .binary(
                    Binary(
                        (0..<Int.random(in: 0..<9, using: &self)).map { _ in UInt8(truncatingIfNeeded: next()) },
                        subtype: 0x80))
            case 9:
                let coefficient = UInt128(next()) << 49 | UInt128(next() >> 15)
                return .decimal128(
                    Decimal128(
                        negative: Bool.random(using: &self), coefficient: coefficient,
                        exponent: Int.random(in: -6176...6111, using: &self)) ?? .nan)
            case 10: return .regex(RegularExpression(text().filter { $0 != "\0" }, options: "im"))
            case 11:
                return .timestamp(
                    Timestamp(
                        seconds: UInt32(truncatingIfNeeded: next()), increment: UInt32(truncatingIfNeeded: next())))
            case 12: return .minKey
            case 13: return .maxKey
            case 14: return .symbol(text())
            case 15: return .code(Code(text(), scope: Bool.random(using: &self) ? [:] : nil))
            case 16: return .undefined
            case 17: return .array((0..<Int.random(in: 0..<6, using: &self)).map { _ in value(depth: depth + 1) })
            default: return .document(document(depth: depth + 1))
            }
        }

        mutating func document(depth: Int) -> Document {
            Document(
                (0..<Int.random(in: 0..<40, using: &self) / (depth + 1)).map { _ in
                    ("k" + text().filter { $0 != "\0" }, value(depth: depth))
                })
        }

        mutating func text() -> String {
            let alphabet: [Character] = [
                "a", "b", "\"", "\\", "\n", "\u{0}", "é", "e\u{301}", "漢", "😀", "$", ".", "/", "\u{7F}", "\u{FFFF}",
            ]
            return String(
                (0..<Int.random(in: 0..<20, using: &self)).map { _ in
                    alphabet[Int.random(in: 0..<alphabet.count, using: &self)]
                })
        }
    }

    @Test(arguments: UInt64(1)...40)
    func `what is printed parses to the same value`(seed: UInt64) throws {
        var generator = Generator(state: seed)
        for _ in 0..<20 {
            let document = generator.document(depth: 0)
            let text = ExtendedJSON.print(document, mode: .canonical)
            let parsed = try ExtendedJSON.parseDocument(text)
            // NaN has many bit patterns, but one text.
            #expect(parsed == document, "seed \(seed)")
            #expect(ExtendedJSON.print(parsed, mode: .canonical) == text, "seed \(seed)")
            try ExtendedJSON.validate(Array(text.utf8))
            let relaxed = try ExtendedJSON.parseDocument(ExtendedJSON.print(document, mode: .relaxed))
            #expect(relaxed == document, "seed \(seed)")
            #expect(try BSON.decode(BSON.encode(document)).isIdentical(to: document), "seed \(seed)")
        }
    }

    @Test(arguments: UInt64(1)...40)
    func `broken text gives an error with an offset inside it`(seed: UInt64) throws {
        var generator = Generator(state: seed &* 7919)
        let pieces = [
            "{", "}", "[", "]", ",", ":", "\"", "\\", "\\u", "\\ud800", "1", "-", "e", ".", "$oid", "$date", "null",
            "\u{0}", " ", "{\"$numberLong\":\"", "{\"$binary\":{",
        ]
        for _ in 0..<20 {
            var bytes = Array(ExtendedJSON.print(generator.document(depth: 1), mode: .canonical).utf8)
            for _ in 0..<20 {
                let place = Int.random(in: 0...bytes.count, using: &generator)
                switch UInt8.random(in: 0..<4, using: &generator) {
                case 0: bytes.insert(UInt8(truncatingIfNeeded: generator.next()), at: place)
                case 1: if place < bytes.count { bytes.remove(at: place) }
                case 2:
                    bytes.insert(
                        contentsOf: pieces[Int.random(in: 0..<pieces.count, using: &generator)].utf8, at: place)
                default: if place < bytes.count { bytes[place] ^= 1 << UInt8.random(in: 0..<8, using: &generator) }
                }
                do throws(ExtendedJSONError) {
                    let value = try ExtendedJSON.parse(bytes)
                    try ExtendedJSON.validate(bytes)
                    #expect(try ExtendedJSON.parse(ExtendedJSON.print(value)) == value, "seed \(seed)")
                } catch {
                    #expect((0...bytes.count).contains(error.offset), "seed \(seed)")
                }
            }
        }
    }

    @Test(arguments: UInt64(1)...40)
    func `broken BSON gives an error with an offset inside it`(seed: UInt64) throws {
        var generator = Generator(state: seed &* 104_729)
        for _ in 0..<40 {
            var bytes = try BSON.encode(generator.document(depth: 1))
            for _ in 0..<10 {
                let place = Int.random(in: 0..<bytes.count, using: &generator)
                bytes[place] =
                    Bool.random(using: &generator)
                    ? UInt8(truncatingIfNeeded: generator.next())
                    : [0, 1, 0x7F, 0x80, 0xFF][Int.random(in: 0..<5, using: &generator)]
                do throws(BSONError) {
                    let document = try BSON.decode(bytes)
                    _ = ExtendedJSON.print(document)
                } catch {
                    #expect((0...bytes.count).contains(error.offset), "seed \(seed)")
                }
            }
        }
    }

    @Test(arguments: UInt64(1)...20)
    func `the order of values is total and agrees with equality and hashes`(seed: UInt64) {
        var generator = Generator(state: seed &* 31)
        let values = (0..<60).map { _ in generator.value(depth: 3) }
        for a in values {
            for b in values {
                let order = Value.compare(a, b)
                #expect(order.signum() == -Value.compare(b, a).signum(), "seed \(seed): \(a) \(b)")
                if order == 0 { #expect(a.hashValue == b.hashValue, "seed \(seed): \(a) \(b)") }
            }
        }
        let sorted = values.sorted()
        for (a, b) in zip(sorted, sorted.dropFirst(2)) { #expect(Value.compare(a, b) <= 0, "seed \(seed): \(a) \(b)") }
    }
}

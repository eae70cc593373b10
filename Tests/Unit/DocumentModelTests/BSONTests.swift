import DocumentModel
import Testing

@Suite struct BSONTests {
    static let everything: Document = [
        "double": 1.5, "string": "a\u{0}é", "document": ["x": 1], "array": [1, "two", [3]],
        "binary": .binary(Binary([1, 2, 3], subtype: 0x80)),
        "old": .binary(Binary([1, 2], subtype: 2)), "undefined": .undefined,
        "id": .objectId(ObjectId(high: 0x5F0C_1B2A_3D4E_5F60, low: 0x7182_93A4)), "true": true, "false": false,
        "date": .date(-5), "null": .null,
        "regex": .regex(RegularExpression("a.b", options: "im")),
        "pointer": .dbPointer(DBPointer(namespace: "a.b", id: ObjectId(high: 1, low: 2))),
        "code": .code(Code("f()")), "symbol": .symbol("s"), "scoped": .code(Code("g()", scope: ["y": 2])), "int": 7,
        "timestamp": .timestamp(Timestamp(seconds: 4_000_000_000, increment: 3)), "long": .int64(.min),
        "decimal": .decimal128(Decimal128(negative: true, coefficient: 12345, exponent: -2) ?? .nan), "min": .minKey,
        "max": .maxKey, "": "empty",
    ]

    @Test func `every type survives a round trip`() throws {
        let bytes = try BSON.encode(Self.everything)
        #expect(try BSON.decode(bytes).isIdentical(to: Self.everything))
    }

    @Test func `the bytes are those of the specification`() throws {
        #expect(try BSON.encode(["hello": "world"]) == Array("\u{16}\0\0\0\u{2}hello\0\u{6}\0\0\0world\0\0".utf8))
        let awesome: Document = ["BSON": ["awesome", 5.05, 1986]]
        let bytes = try BSON.encode(awesome)
        #expect(bytes.count == 49 && bytes[4] == 4 && bytes[14] == 2)
        let id = try BSON.encode(["_id": .objectId(ObjectId(high: 0x0102_0304_0506_0708, low: 0x090A_0B0C))])
        #expect(Array(id[9..<21]) == Array(1...12))
    }

    @Test func `every cut and every flipped byte gives an error or a document, never a crash`() throws {
        let bytes = try BSON.encode(Self.everything)
        for length in 0..<bytes.count {
            #expect(throws: BSONError.self) { try BSON.decode(Array(bytes[..<length])) }
        }
        for index in bytes.indices {
            for flip: UInt8 in [0x01, 0x80, 0xFF] {
                var broken = bytes
                broken[index] ^= flip
                // Either outcome is right; what counts is that it returns.
                _ = try? BSON.decode(broken)
            }
        }
    }

    @Test func `wrong lengths and values are named with their place`() {
        let cases: [([UInt8], BSONError.Code)] = [
            ([], .unexpectedEnd), ([4, 0, 0, 0], .badLength), ([6, 0, 0, 0, 0, 0], .badLength),
            ([5, 0, 0, 0, 0, 0], .badLength),
            ([9, 0, 0, 0, 8, 0x61, 0, 2, 0], .badValue), ([8, 0, 0, 0, 0x55, 0x61, 0, 0], .badType),
            ([13, 0, 0, 0, 2, 0x61, 0, 0xFF, 0xFF, 0xFF, 0x7F, 0, 0], .unexpectedEnd),
            ([13, 0, 0, 0, 2, 0x61, 0, 0, 0, 0, 0, 0, 0], .badLength),
            ([9, 0, 0, 0, 10, 0xC3, 0x28, 0, 0], .badEncoding),
        ]
        for (bytes, code) in cases {
            let error = #expect(throws: BSONError.self) { try BSON.decode(bytes) }
            #expect(error?.code == code, "\(bytes)")
        }
    }

    @Test func `depth is limited`() throws {
        var value: Value = 1
        for _ in 0..<300 { value = ["a": value] }
        let bytes = try BSON.encode(["a": value])
        let error = #expect(throws: BSONError.self) { try BSON.decode(bytes) }
        #expect(error?.code == .tooDeep)
    }

    @Test func `a repeated name can be refused, at any depth`() throws {
        let twice: [UInt8] = [19, 0, 0, 0, 16, 0x61, 0, 1, 0, 0, 0, 16, 0x61, 0, 2, 0, 0, 0, 0]
        let inner: [UInt8] = [27, 0, 0, 0, 3, 0x6F, 0] + twice + [0]
        for bytes in [twice, inner] {
            let error = #expect(throws: BSONError.self) {
                try bytes.withUnsafeBytes { try BSON.decode($0, refusesRepeatedNames: true) }
            }
            #expect(error?.code == .repeatedName)
        }
        #expect(try BSON.decode(twice)["a"] == 2)
    }

    @Test func `a name with a zero byte is refused`() {
        #expect(throws: BSONError.self) { try BSON.encode(["a\u{0}b": 1]) }
    }
}

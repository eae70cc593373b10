import DocumentModel
import Testing

@Suite struct ValueTests {
    @Test func `values of all types have one order`() {
        let ordered: [Value] = [
            .minKey, .undefined, .null, .double(.nan), .double(-.infinity), -5, .decimal128(Decimal128("-1.5") ?? .nan),
            0, 0.1,
            .decimal128(Decimal128("0.2") ?? .nan), 1, .int64(9_007_199_254_740_992), .int64(9_007_199_254_740_993),
            .int64(.max), 1e300,
            .double(.infinity), "", "a", .symbol("aa"), "b", [:], ["a": 1], ["b": 1], ["b": 1, "c": 1], ["a": "x"], [],
            [1], [1, 2], [2],
            .binary(Binary([])), .binary(Binary([9])), .binary(Binary([1, 2])), .objectId(ObjectId(high: 0, low: 1)),
            .objectId(ObjectId(high: 1, low: 0)), false, true, .date(-1), .date(1),
            .timestamp(Timestamp(seconds: 1, increment: 0)),
            .regex(RegularExpression("a")), .regex(RegularExpression("a", options: "i")),
            .dbPointer(DBPointer(namespace: "a", id: ObjectId(high: 0, low: 0))), .code(Code("a")),
            .code(Code("a", scope: [:])), .maxKey,
        ]
        for (left, a) in ordered.enumerated() {
            for (right, b) in ordered.enumerated() {
                #expect(Value.compare(a, b).signum() == (left - right).signum(), "\(a) and \(b)")
            }
        }
    }

    @Test func `numbers are equal across types and hash alike`() throws {
        let ones: [Value] = [1, .int64(1), 1.0, .decimal128(try #require(Decimal128("1.00")))]
        for one in ones { #expect(one == ones[0] && one.hashValue == ones[0].hashValue) }
        #expect(!ones[0].isIdentical(to: ones[1]))
        #expect(Value.double(-0.0) == 0)
        #expect(!Value.double(-0.0).isIdentical(to: 0.0))
        #expect(Value.double(.nan) == .double(.nan))
        #expect(Value.decimal128(try #require(Decimal128("0.1"))) != 0.1)
        #expect(Value.decimal128(try #require(Decimal128("0.5"))) == 0.5)
    }

    @Test func `values have one text as an _id exactly when they are equal`() throws {
        let decimals = try ["1.5", "1.50", "0.1", "2", "1E+6111", "10E+6110", "NaN", "-Infinity", "0E+3"].map {
            Value.decimal128(try #require(Decimal128($0)))
        }
        let values: [Value] =
            decimals + [
                1.5, 0.1, 2, .int64(2), 2.0, -0.0, 0, .double(.nan), .double(-.infinity), 1e300, .null, true, false,
                .date(5), .int64(5), "s", .symbol("s"), "e:5", ["a": 1], ["a": 1.0], ["a": 1, "b": 2],
                ["b": 2, "a": 1],
                ["a": [.int64(1), 2.5]], ["a": [1.0, decimals[0]]], .minKey, .maxKey,
                .objectId(ObjectId(high: 1, low: 2)),
                .timestamp(Timestamp(seconds: 1, increment: 2)), .binary(Binary([1])), .binary(Binary([1], subtype: 5)),
                .code(Code("a")), .code(Code("a", scope: ["x": 1])), .code(Code("a", scope: ["x": 1.0])),
            ]
        for a in values {
            let text = try #require(a.idText)
            #expect(Value(idText: text) == a, "\(text)")
            for b in values { #expect((text == b.idText) == (a == b), "\(a) and \(b)") }
        }
        let none: [Value] = [[1], .regex(RegularExpression("a")), .undefined]
        for value in none { #expect(value.idText == nil) }
        for text in ["", "x", "e:", "e:{", "q:1"] { #expect(Value(idText: text) == nil) }
    }

    @Test func `the order of fields matters`() {
        #expect(Value.document(["a": 1, "b": 2]) != ["b": 2, "a": 1])
    }

    @Test(arguments: [
        ("0", "0"), ("-0", "-0"), ("1", "1"), ("1.20", "1.20"), ("1E+3", "1E+3"), ("1e-7", "1E-7"),
        ("0.000001", "0.000001"), ("0.0000001", "1E-7"),
        ("12345678901234567890.1234567890123", "12345678901234567890.1234567890123"),
        ("9.999999999999999999999999999999999E+6144", nil),
        ("1E-6176", "1E-6176"), ("inf", "Infinity"), ("-Infinity", "-Infinity"), ("nan", "NaN"), (".5", "0.5"),
        ("5.", "5"), ("1E+6111", "1E+6111"),
        ("0E+999999", "0E+6111"), ("1000000000000000000000000000000000000", "1.000000000000000000000000000000000E+36"),
    ])
    func `decimals print as the specification has it`(text: String, printed: String?) throws {
        #expect(try #require(Decimal128(text)).description == printed ?? text)
    }

    @Test(arguments: [
        "", "x", "1e", "--1", "1.2.3", "1E+9999", "12345678901234567890123456789012345", "1e-6177", "+-1",
    ])
    func `what has no exact decimal form is refused`(text: String) { #expect(Decimal128(text) == nil) }

    @Test func `paths read and write through documents and arrays`() {
        var document: Document = ["a": ["b": [1, ["c": 2]]]]
        #expect(document.value(at: "a.b.1.c") == 2)
        #expect(document.value(at: "a.b.c") == nil)
        let written = [document.set(5, at: "a.b.3"), document.set("x", at: "n.m"), document.set(1, at: "n.m.k")]
        #expect(written == [true, true, false])
        #expect(document == ["a": ["b": [1, ["c": 2], .null, 5]], "n": ["m": "x"]])
        let removed = [document.remove(at: "a.b.0"), document.remove(at: "n.m")]
        #expect(removed == [1, "x"])
        #expect(document == ["a": ["b": [.null, ["c": 2], .null, 5]], "n": [:]])
    }

    @Test func `new object ids differ and increase`() {
        var source = SystemRandomNumberGenerator()
        let generator = ObjectId.Generator(using: &source)
        let ids = (0..<1000).map { _ in generator.next(seconds: 1) }
        #expect(Set(ids).count == 1000)
        #expect(ids[0].seconds == 1)
        #expect(ObjectId() != ObjectId())
        #expect(ObjectId(hexString: ids[0].hexString) == ids[0])
    }

    @Test func `dates carry over their calendar`() {
        #expect(ISODate.milliseconds("2000-02-29T00:00:00Z") == 951_782_400_000)
        #expect(ISODate.milliseconds("1900-02-29") == nil)
        #expect(ISODate.text(-1) == "1969-12-31T23:59:59.999Z")
        #expect(ISODate.parts(-62_135_596_800_000).year == 1)
    }
}

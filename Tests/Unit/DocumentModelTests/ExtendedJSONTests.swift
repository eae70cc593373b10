import DocumentModel
import Testing

@Suite struct ExtendedJSONTests {
    @Test func `what clients write has a maximum number of values, at all depths together`() throws {
        let limits = ExtendedJSON.Limits(maximumValues: 6)
        _ = try ExtendedJSON.parse(#"{"a": [1, 2, {"b": 3}], "c": {}}"#, limits: limits)
        let error = #expect(throws: ExtendedJSONError.self) {
            try ExtendedJSON.parse(#"{"a": [1, 2, {"b": 3}], "c": {"d": 4}}"#, limits: limits)
        }
        #expect(error?.code == .tooLarge)
        // A document of the largest size, of nothing but nulls.
        let nulls = "[" + String(repeating: "null,", count: 1_500_000) + "null]"
        _ = try ExtendedJSON.parse(nulls, limits: .input)
        #expect(throws: ExtendedJSONError.self) {
            try ExtendedJSON.parse("[" + String(repeating: "1,", count: 2_000_000) + "1]", limits: .input)
        }
    }

    @Test(arguments: [
        #"{"_id":{"$oid":"5f0c1b2a3d4e5f60718293a4"},"n":{"$numberInt":"-7"},"l":{"$numberLong":"9007199254740993"}}"#,
        #"{"d":{"$numberDouble":"1.5"},"z":{"$numberDouble":"-0.0"},"i":{"$numberDouble":"Infinity"},"x":{"$numberDouble":"NaN"}}"#,
        #"{"t":true,"f":false,"n":null,"s":"a\"b\\c\n\u0000é","e":{},"a":[],"aa":[[{"$numberInt":"1"}],{}]}"#,
        #"{"d":{"$date":{"$numberLong":"-1"}},"b":{"$binary":{"base64":"AQIDBA==","subType":"80"}}}"#,
        #"{"r":{"$regularExpression":{"pattern":"a/b","options":"im"}},"ts":{"$timestamp":{"t":4294967295,"i":1}}}"#,
        #"{"m":{"$minKey":1},"M":{"$maxKey":1},"u":{"$undefined":true},"y":{"$symbol":"q"},"c":{"$code":"f()"}}"#,
        #"{"c":{"$code":"f()","$scope":{"x":{"$numberInt":"1"}}},"p":{"$dbPointer":{"$ref":"a.b","$id":{"$oid":"000000000000000000000001"}}}}"#,
        #"{"d":{"$numberDecimal":"1.20E+10"}}"#, #"{"$ref":"c","$id":{"$numberInt":"1"}}"#,
        #"{"a":{"$gt":{"$numberInt":"1"}}}"#,
    ])
    func `canonical text survives a round trip`(text: String) throws {
        let value = try ExtendedJSON.parse(text)
        #expect(ExtendedJSON.print(value, mode: .canonical) == text)
    }

    @Test(arguments: [
        (#"{"a":1,"b":2147483648,"c":1.5,"d":1.0}"#, #"{"a":1,"b":2147483648,"c":1.5,"d":1.0}"#),
        (#"{"$date":"1970-01-01T00:00:00.001Z"}"#, #"{"$date":"1970-01-01T00:00:00.001Z"}"#),
        (#"{"$date":"2012-12-24T12:15:30.501+01:00"}"#, #"{"$date":"2012-12-24T11:15:30.501Z"}"#),
        (#"{"$date":{"$numberLong":"253402300800000"}}"#, #"{"$date":{"$numberLong":"253402300800000"}}"#),
        (#"{"$numberDouble":"NaN"}"#, #"{"$numberDouble":"NaN"}"#),
    ])
    func `relaxed text is plain where a plain number keeps the type`(input: String, output: String) throws {
        #expect(ExtendedJSON.print(try ExtendedJSON.parse(input), mode: .relaxed) == output)
    }

    @Test(
        arguments: [
            (0x7C00_0000_0000_0000, 0x12, "NaN"), (0xFC00_0000_0000_0000, 0, "NaN"), (0x7E00_0000_0000_0000, 0, "NaN"),
            (0xF800_0000_0000_0000, 5, "-Infinity"), (0x3041_FFFF_FFFF_FFFF, .max, "0"),
            (0x6C10_0000_0000_0000, 1, "0E+3"),
            (0x7C00_0000_0000_0000, 0, "NaN"), (0xB046_0000_0000_0000, 0, "-0E+3"),
            (0x303C_0000_0000_0000, 100, "1.00"),
        ] as [(UInt64, UInt64, String)])
    func `canonical text of a decimal is the specification's, exact text keeps all bits`(
        high: UInt64, low: UInt64, text: String
    ) throws {
        let number = Decimal128(high: high, low: low)
        #expect(number.description.hasPrefix(text.prefix(1)))
        let document: Document = ["d": .decimal128(number)]
        #expect(ExtendedJSON.print(document) == #"{"d":{"$numberDecimal":"\#(number.description)"}}"#)
        let exact = ExtendedJSON.print(document, mode: .exact)
        #expect(try ExtendedJSON.parseDocument(exact).isIdentical(to: document), "\(exact)")
        #expect(try BSON.decode(BSON.encode(document)).isIdentical(to: document))
        #expect(exact.contains(":7c") == (high >> 56 == 0x7C && low != 0))
    }

    @Test(arguments: ["NaN:7c", "1:30400000000000000000000000000001", "NaN:7c00000000000000000000000000001G", "1:NaN"])
    func `bits behind a decimal's text are its own, or refused`(text: String) {
        #expect(throws: ExtendedJSONError.self) { try ExtendedJSON.parse(#"{"$numberDecimal":"\#(text)"}"#) }
    }

    @Test func `the exponents of doubles are written as the specification's corpus has them`() {
        #expect(ExtendedJSON.print(.double(1.2345678921232e18)) == #"{"$numberDouble":"1.2345678921232E+18"}"#)
        #expect(ExtendedJSON.print(.double(-1e-7), mode: .relaxed) == "-1E-07")
        #expect(ExtendedJSON.print(.double(1e18), mode: .exact) == #"{"$numberDouble":"1e+18"}"#)
    }

    @Test(arguments: [
        (#"{"$date":1356351330501}"#, #"{"$date":{"$numberLong":"1356351330501"}}"#),
        (#"{"$binary":"AQID","$type":"00"}"#, #"{"$binary":{"base64":"AQID","subType":"00"}}"#),
        (#"{"$type":"ffffff80","$binary":"AQID"}"#, #"{"$binary":{"base64":"AQID","subType":"80"}}"#),
        (#"{"$regex":"a","$options":"xi"}"#, #"{"$regularExpression":{"pattern":"a","options":"ix"}}"#),
        (#"{"$numberLong":5}"#, #"{"$numberLong":"5"}"#),
        (
            #"{"$uuid":"73ffd264-44b3-4c69-90e8-e7d1dfc035d4"}"#,
            #"{"$binary":{"base64":"c//SZESzTGmQ6OfR38A11A==","subType":"04"}}"#
        ),
        (#"{"a":{"$regex":"x"}}"#, #"{"a":{"$regex":"x"}}"#), (#"{"$type":2}"#, #"{"$type":{"$numberInt":"2"}}"#),
    ])
    func `forms of version 1 are understood`(input: String, output: String) throws {
        #expect(ExtendedJSON.print(try ExtendedJSON.parse(input), mode: .canonical) == output)
    }

    @Test(arguments: [
        ("", ExtendedJSONError.Code.unexpectedEnd, 0), ("{", .unexpectedEnd, 1), (#"{"a"1}"#, .unexpectedByte, 4),
        ("[1,]", .unexpectedByte, 3),
        ("1 2", .trailingBytes, 2), ("01", .badNumber, 0), ("1e999", .badNumber, 0), ("-", .badNumber, 0),
        (#""\ud800""#, .badString, 7),
        ("\"a\nb\"", .badString, 2), (#""\q""#, .badString, 1), (#"{"$oid":"xyz"}"#, .badWrapper, 0),
        (#"[{"$numberInt":"2147483648"}]"#, .badWrapper, 1), (#"{"$numberLong":"1","b":1}"#, .badWrapper, 0),
        ("nul", .unexpectedByte, 0),
        (#"{"$minKey":2}"#, .badWrapper, 0), (#"{"$binary":{"base64":"A","subType":"00"}}"#, .badWrapper, 0),
    ])
    func `a fault is named with its place`(text: String, code: ExtendedJSONError.Code, offset: Int) {
        let error = #expect(throws: ExtendedJSONError.self) { try ExtendedJSON.parse(text) }
        #expect(error?.code == code)
        #expect(error?.offset == offset)
    }

    @Test func `bytes that are not UTF-8 are refused`() {
        let error = #expect(throws: ExtendedJSONError.self) { try ExtendedJSON.parse([0x22, 0xC3, 0x28, 0x22]) }
        #expect(error?.code == .badEncoding)
    }

    @Test func `depth is limited and type wrappers do not count`() throws {
        let deep =
            String(repeating: "[", count: 120) + #"{"$date":{"$numberLong":"1"}}"# + String(repeating: "]", count: 120)
        #expect(ExtendedJSON.print(try ExtendedJSON.parse(deep)) == deep)
        let deeper = String(repeating: #"{"$a":"#, count: 121) + "1" + String(repeating: "}", count: 121)
        #expect(throws: ExtendedJSONError.self) { try ExtendedJSON.parse(deeper) }
        #expect(throws: ExtendedJSONError.self) { try ExtendedJSON.parse(String(repeating: "[", count: 100_000)) }
        #expect(throws: ExtendedJSONError.self) {
            try ExtendedJSON.validate(Array(String(repeating: "[", count: 100_000).utf8))
        }
    }

    @Test func `a repeated key keeps its last value in its first place, or is refused`() throws {
        let text = #"{"a":1,"b":2,"a":3}"#
        #expect(ExtendedJSON.print(try ExtendedJSON.parse(text), mode: .relaxed) == #"{"a":3,"b":2}"#)
        let error = #expect(throws: ExtendedJSONError.self) {
            try ExtendedJSON.parse(text, limits: .init(rejectDuplicateKeys: true))
        }
        #expect(error?.code == .duplicateKey)
        let many = "{" + (0..<100).map { "\"k\($0)\":\($0)" }.joined(separator: ",") + ",\"k50\":0}"
        #expect(try ExtendedJSON.parseDocument(many).count == 100)
        #expect(try ExtendedJSON.parseDocument(many)["k50"] == 0)
    }

    @Test func `keys that look alike but differ in bytes are different`() throws {
        let document = try ExtendedJSON.parseDocument("{\"\u{E9}\":1,\"e\u{301}\":2}")
        #expect(document.count == 2)
        #expect(document["e\u{301}"] == 2)
    }

    @Test func `validation accepts what parses`() throws {
        try ExtendedJSON.validate(Array(#"{"a":[1,-2.5e3,"\u00e9x",{"$oid":"x"}],"b":null}"#.utf8))
        #expect(throws: ExtendedJSONError.self) { try ExtendedJSON.validate(Array(#"{"a":[1,}"#.utf8)) }
    }

    @Test func `a value is 17 bytes`() { #expect(MemoryLayout<Value>.size == 17) }
}

import DocumentModel
import DocumentSchema
import Testing

@Suite struct SchemaTests {
    static func violations(_ schema: String, _ document: String) throws -> [String] {
        let schema = try DocumentSchema(try ExtendedJSON.parseDocument(schema), dialect: .collection)
        return try schema.violations(in: .document(try ExtendedJSON.parseDocument(document))).map(\.path)
    }

    @Test(arguments: [
        (#"{"properties": {"a": {"bsonType": "string"}}}"#, #"{"a": "x", "b": 1}"#, []),
        (#"{"properties": {"a": {"bsonType": "string"}}}"#, #"{"a": 1}"#, ["a"]),
        (#"{"properties": {"a": {"bsonType": "string"}}}"#, #"{"a": null}"#, []),
        (#"{"required": ["a"], "properties": {"a": {"bsonType": "string"}}}"#, #"{"a": null}"#, ["a"]),
        (#"{"required": ["a", "b"]}"#, #"{"b": 1}"#, ["a"]),
        (#"{"properties": {"a": {"bsonType": ["string", "null"]}}}"#, #"{"a": true}"#, ["a"]),
        (#"{"additionalProperties": false, "properties": {"a": {}}}"#, #"{"_id": 1, "a": 1, "b": 1}"#, ["b"]),
        (#"{"additionalProperties": {"bsonType": "int"}}"#, #"{"a": 1, "b": "x"}"#, ["b"]),
        (
            #"{"properties": {"a": {"bsonType": "object", "required": ["b"], "properties": {"b": {"bsonType": "date"}}}}}"#,
            #"{"a": {"b": 5}}"#, ["a.b"]
        ),
        (
            #"{"properties": {"a": {"bsonType": "array", "items": {"bsonType": "int"}}}}"#, #"{"a": [1, "x", 3, "y"]}"#,
            ["a.1", "a.3"]
        ),
        (#"{"properties": {"a": {"enum": ["x", "y"]}}}"#, #"{"a": "z"}"#, ["a"]),
        (#"{"properties": {"a": {"minimum": 1, "maximum": 3}}}"#, #"{"a": 4}"#, ["a"]),
        (#"{"properties": {"a": {"minimum": 1, "exclusiveMinimum": true}}}"#, #"{"a": 1}"#, ["a"]),
        (#"{"properties": {"a": {"multipleOf": 5}}}"#, #"{"a": 7}"#, ["a"]),
        (#"{"properties": {"a": {"minLength": 2, "pattern": "^x"}}}"#, #"{"a": "y"}"#, ["a", "a"]),
        // PCRE2 10.42 says no, unless it is told not to optimize.
        (#"{"properties": {"a": {"pattern": "(?=a)[ab]*a"}}}"#, #"{"a": "a"}"#, []),
        (#"{"properties": {"a": {"maxItems": 1, "uniqueItems": true}}}"#, #"{"a": [1, 1]}"#, ["a", "a.1"]),
        (#"{"anyOf": [{"required": ["a"]}, {"required": ["b"]}]}"#, #"{"c": 1}"#, [""]),
        (#"{"oneOf": [{"required": ["a"]}, {"required": ["b"]}]}"#, #"{"a": 1, "b": 1}"#, [""]),
        (#"{"not": {"required": ["a"]}}"#, #"{"a": 1}"#, [""]),
        (#"{"allOf": [{"required": ["a"]}, {"required": ["b"]}]}"#, #"{}"#, ["a", "b"]),
    ])
    func `a document is validated against its schema`(schema: String, document: String, paths: [String]) throws {
        #expect(try SchemaTests.violations(schema, document) == paths)
    }

    @Test(arguments: [
        (BSONType.int, Value.int32(3), true), (.int, .int64(3), true), (.int, .double(3), true),
        (.int, .double(3.5), false),
        (.int, .int64(1 << 40), false), (.long, .int32(3), true), (.long, .double(3.5), false),
        (.double, .int32(3), true),
        (.double, .int64((1 << 53) + 1), false), (.double, .double(0.1), true), (.number, .string("3"), false),
        (.uuid, .binary(Binary([UInt8](repeating: 1, count: 16), subtype: 4)), true),
        (.uuid, .binary(Binary([1])), false),
        (.binData, .binary(Binary([1])), true), (.objectId, .string("64f0000000000000000000aa"), false),
        (.mixed, .null, true),
    ])
    func `a number counts as every number type that holds it`(type: BSONType, value: Value, accepted: Bool) {
        #expect(type.accepts(value) == accepted)
    }

    @Test func `types are found by path`() throws {
        let schema = try DocumentSchema(
            [
                "title": "Order",
                "properties": [
                    "when": ["bsonType": "date"],
                    "lines": ["bsonType": "array", "items": ["properties": ["n": ["bsonType": "long"]]]],
                ],
            ], dialect: .collection)
        #expect(schema.types(at: ["when"]) == [.date])
        #expect(schema.types(at: ["lines", "3", "n"]) == [.long])
        #expect(schema.types(at: ["elsewhere"]) == nil)
    }

    @Test(arguments: [
        (#"{"bsonType": "text"}"#, "/bsonType", true),
        (#"{"properties": {"a": {"bsonType": ["int", "big"]}}}"#, "/properties/a/bsonType", true),
        (#"{"required": "a"}"#, "/required", false), (#"{"propertys": {}}"#, "/propertys", false),
        (#"{"properties": {"a/b": {"pattern": "("}}}"#, "/properties/a~1b/pattern", false),
    ])
    func `a broken schema is reported with its fault and place`(json: String, pointer: String, isType: Bool) throws {
        let document = try ExtendedJSON.parseDocument(json)
        let error = #expect(throws: SchemaSyntaxError.self) { try DocumentSchema(document, dialect: .collection) }
        #expect(error?.issues.first?.pointer == pointer)
        #expect(error?.issues.first?.isUnsupportedType == isType)
    }

    @Test func `a hostile document costs no more than twenty violations`() throws {
        let schema = try DocumentSchema(
            ["properties": ["a": ["items": ["bsonType": "int"]]]], dialect: .collection)
        let document: Document = ["a": .array([Value](repeating: "x", count: 10_000))]
        #expect(try schema.violations(in: .document(document)).count == 20)
    }

    @Test func `lists of schemas inside lists are read once`() throws {
        // Twice at each level would be 2^90 times.
        var schema: Document = [:]
        for _ in 0..<90 { schema = ["items": [[:]], "additionalItems": .document(schema)] }
        #expect(try DocumentSchema(schema, dialect: .query).accepts([1, 2]))
    }

    @Test func `a pattern without an equivalent in Postgres is found`() throws {
        let schema = try DocumentSchema(
            [
                "properties": [
                    "name": ["pattern": #"^\p{L}+$"#], "pattern": ["pattern": "^(?<year>[0-9]{4})"],
                    "list": ["items": [["pattern": "(a)\\1"]]], "enum": ["enum": [["pattern": "(?i)a"]]],
                ],
                "patternProperties": ["(?>a)/": [:]],
            ], dialect: .collection)
        #expect(
            schema.patternsBeyondPostgres.map(\.pointer) == [
                "/properties/name/pattern", "/properties/list/items/0/pattern", "/patternProperties/(?>a)~1",
            ])
    }

    @Test func `a query's schema has a bound, and a long comparison can be stopped`() throws {
        var doubled: Document = ["bsonType": "object"]
        for _ in 0..<12 { doubled = ["oneOf": [.document(doubled), .document(doubled)]] }
        let error = #expect(throws: SchemaSyntaxError.self) { try DocumentSchema(doubled, dialect: .query) }
        #expect(error?.issues.count == 1)
        #expect(error?.issues.first?.queryError.code == 9)

        let numbers = (0..<50_000).map { Value.int32($0) }
        let schema = try DocumentSchema(
            ["items": ["not": ["enum": .array(numbers.map { .int32(-1 - ($0.int64Value.map(Int32.init) ?? 0)) })]]],
            dialect: .query)
        // Each value against each would be 2,500,000,000 comparisons.
        #expect(try schema.accepts(.array(numbers)))
        let isOver = Interruption { QueryError(code: 50, message: "time is over") }
        let interrupted = #expect(throws: QueryError.self) {
            try Interruption.$current.withValue(isOver) { try schema.accepts(.array(numbers)) }
        }
        #expect(interrupted?.code == 50)
    }

    @Test func `a name that no field can have is refused`() throws {
        let error = #expect(throws: SchemaSyntaxError.self) {
            try DocumentSchema(["properties": ["a\u{0}": [:]]], dialect: .collection)
        }
        #expect(error?.issues.first?.message.contains("U+0000") == true)
    }
}

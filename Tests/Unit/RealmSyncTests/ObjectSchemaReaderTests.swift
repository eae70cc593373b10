import DocumentModel
import RealmSync
import Testing
import Vectors

struct ObjectSchemaReaderTests {
    private static func collection(_ json: String, _ relationships: [ExactText: ExactText] = [:]) throws
        -> CollectionClass
    {
        let schema = try ExtendedJSON.parseDocument(json)
        return CollectionClass(
            collection: schema["title"]?.stringValue ?? "", schema: schema, relationships: relationships)
    }

    private static func recorded() throws -> [CollectionClass] {
        try RecordedClient.schemas.map { try collection($0.json, $0.relationships) }
    }

    @Test func `schemas make the classes that a real client declares`() throws {
        let upload = try #require(try RecordedClient.uploads(in: "first-open").first)
        var client = PartitionObjects()
        try client.apply(try Changeset(upload.bytes("changeset")))
        let (schema, unfit) = ObjectSchema.reading(try Self.recorded())
        #expect(unfit.isEmpty, "\(unfit)")
        #expect(schema.names(beyond: client.schema).isEmpty && client.schema.names(beyond: schema).isEmpty)
        for (name, type) in client.schema.classes {
            #expect(schema.classes[name]?.key == type.key, "\(name)")
            for (field, property) in type.properties {
                #expect(schema.classes[name]?.properties[field] == property, "\(name).\(field)")
            }
        }
        // And the other way round: a client that has its classes can take those of the server.
        try client.apply(try Changeset(schema.changeset().encoded()))
        #expect(client.schema == schema)
    }

    @Test func `relationships of elements are found with and without their place`() throws {
        let schema = ObjectSchema.reading([
            try Self.collection(
                """
                {"title": "A", "required": ["_id"], "properties": {"_id": {"bsonType": "string"},
                    "a": {"bsonType": "array", "items": {"bsonType": "string"}},
                    "b": {"bsonType": "object", "additionalProperties": {"bsonType": "string"}}}}
                """, ["a.[]": "A", "b.%": "A"])
        ]).schema
        #expect(schema.classes["A"]?.properties["a"]?.target == "A")
        #expect(schema.classes["A"]?.properties["b"]?.target == "A")
    }

    @Test func `an object without properties of its own is a dictionary`() throws {
        let schema = ObjectSchema.reading([
            try Self.collection(
                """
                {"title": "A", "required": ["_id"], "properties": {"_id": {"bsonType": "string"},
                    "a": {"bsonType": "object", "properties": {}, "additionalProperties": {"bsonType": "string"}},
                    "b": {"bsonType": "object"}, "c": {"bsonType": "object", "properties": {}}}}
                """)
        ]).schema
        let properties = try #require(schema.classes["A"]?.properties)
        #expect(properties["a"]?.collection == .dictionary && properties["a"]?.type == .string)
        #expect(properties["b"]?.collection == .dictionary && properties["c"]?.collection == .single)
    }

    @Test func `what the SDKs have no place for is named`() throws {
        let (schema, unfit) = ObjectSchema.reading([
            try Self.collection(#"{"title": "NoId", "properties": {"a": {"bsonType": "string"}}}"#),
            try Self.collection(#"{"title": "Key", "properties": {"_id": {"bsonType": "date"}}}"#),
            try Self.collection(
                """
                {"title": "A", "required": ["_id"], "properties": {"_id": {"bsonType": "string"},
                    "re": {"bsonType": "regex"}, "list": {"bsonType": "array"}, "gone": {"bsonType": "string"},
                    "one": {"bsonType": "object", "title": "E", "properties": {"x": {"bsonType": "int"}}},
                    "two": {"bsonType": "object", "title": "E", "properties": {"x": {"bsonType": "string"}}}}}
                """, ["gone": "Nowhere"]),
        ])
        #expect(
            unfit.map { "\($0.collection) \($0.path)" } == ["NoId ", "Key _id", "A re", "A list", "A gone", "A two"])
        #expect(schema.classes["A"]?.properties.keys.sorted() == ["one"])
        #expect(unfit.last?.pointer == "/properties/two")
    }

    @Test func `names that are too long for realm-core are named`() throws {
        func names(_ className: Int, _ field: Int) throws -> [String] {
            let name = String(repeating: "C", count: className), property = String(repeating: "p", count: field)
            let (schema, unfit) = ObjectSchema.reading([
                try Self.collection(
                    """
                    {"title": "\(name)", "properties": {"_id": {"bsonType": "string"}, "\(property)": {"bsonType": "int"}}}
                    """)
            ])
            #expect(schema.classes[ExactText(name)]?.properties.count ?? 0 == (unfit.isEmpty ? 1 : 0))
            return unfit.map(\.pointer)
        }
        #expect(try names(57, 63) == [])
        #expect(try names(58, 63) == [""])
        #expect(try names(57, 64) == ["/properties/\(String(repeating: "p", count: 64))"])
    }

    @Test func `documents are objects and back`() throws {
        let schema = ObjectSchema.reading(try Self.recorded()).schema
        let document = try ExtendedJSON.parseDocument(
            """
            {"_id": "p", "visits": {"$numberDouble": "3.0"}, "unknown": 1, "addr": {"street": "x", "extra": true,
                "geo": {"lat": 1, "lon": 2.5}}, "addrs": [{"street": "y", "tags": ["a", "b"]}], "book": {"k": {"zip": 7}}}
            """)
        let (key, object) = try schema.object(of: document, table: "Person")
        #expect(key == ObjectKey(table: "Person", id: .string("p")))
        #expect(object["visits"]?.isIdentical(to: .int64(3)) == true && object["unknown"] == nil)
        guard case .insert(let written)? = schema.write(key, from: nil, to: object) else {
            Issue.record("no insert")
            return
        }
        #expect(written["_id"] == "p" && written["book"]?.documentValue?["k"]?.documentValue?["street"] == "")
        #expect(written["addr"]?.documentValue?["geo"]?.documentValue?["hits"] == .int64(0))
        // The written document is the same object.
        #expect(try schema.object(of: written, table: "Person").object.isIdentical(to: object))
        for (json, path) in [
            (#"{"_id": 1}"#, "_id"), (#"{"_id": "p", "visits": "3"}"#, "visits"),
            (#"{"_id": "p", "addrs": [{"street": 1}]}"#, "addrs.0.street"),
            (#"{"_id": "p", "addr": {"tags": "x"}}"#, "addr.tags"), (#"{"_id": "p", "addrs": [null]}"#, "addrs.0"),
        ] {
            do {
                _ = try schema.object(of: try ExtendedJSON.parseDocument(json), table: "Person")
                Issue.record("\(json) is no Person")
            } catch let error as UnfitDocument {
                #expect(error.path == path)
            }
        }
    }
}

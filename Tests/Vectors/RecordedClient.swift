public import DocumentModel

/// The client with realm-core whose messages are in `Realm/frames.jsonl.gz`.
public enum RecordedClient {
    /// Its classes as the schemas of an export would have them, with the properties that are links.
    public static let schemas: [(json: String, relationships: [ExactText: ExactText])] = [
        (
            """
            {"title": "Box", "required": ["_id"], "properties": {"_id": {"bsonType": "int"},
                "li": {"bsonType": "array", "items": {"bsonType": "int"}},
                "ls": {"bsonType": "array", "items": {"bsonType": ["string", "null"]}},
                "lk": {"bsonType": "array", "items": {"bsonType": "int"}},
                "lm": {"bsonType": "array", "items": {"bsonType": "mixed"}},
                "si": {"bsonType": "array", "uniqueItems": true, "items": {"bsonType": "long"}},
                "ss": {"bsonType": "array", "uniqueItems": true, "items": {"bsonType": "string"}},
                "di": {"bsonType": "object", "additionalProperties": {"bsonType": "int"}},
                "dm": {"bsonType": "object"},
                "dk": {"bsonType": "object", "additionalProperties": {"bsonType": ["int", "null"]}},
                "m": {"bsonType": "mixed"}}}
            """, ["lk": "Box", "dk": "Box"]
        ),
        (
            """
            {"title": "Item", "required": ["_id", "b", "i", "f", "d", "s", "dec", "n"], "properties": {
                "_id": {"bsonType": "objectId"}, "b": {"bsonType": "bool"}, "i": {"bsonType": "long"},
                "io": {"bsonType": "long"}, "f": {"bsonType": "float"}, "d": {"bsonType": "double"},
                "s": {"bsonType": "string"}, "so": {"bsonType": "string"}, "bin": {"bsonType": "binData"},
                "t": {"bsonType": "date"}, "dec": {"bsonType": "decimal"}, "oid": {"bsonType": "objectId"},
                "uuid": {"bsonType": "uuid"}, "m": {}, "link": {"bsonType": "objectId"}, "n": {"bsonType": "long"}}}
            """, ["link": "Item"]
        ),
        (
            """
            {"title": "Person", "required": ["_id", "visits"], "properties": {"_id": {"bsonType": "string"},
                "addr": \(address), "addrs": {"bsonType": "array", "items": \(address)},
                "book": {"bsonType": "object", "additionalProperties": \(address)}, "visits": {"bsonType": "long"}}}
            """, [:]
        ),
    ]

    private static let address = """
        {"bsonType": "object", "title": "Addr", "required": ["street"], "properties": {
            "street": {"bsonType": "string"}, "zip": {"bsonType": "long"},
            "geo": {"bsonType": "object", "title": "Geo", "required": ["lat", "lon", "hits"], "properties": {
                "lat": {"bsonType": "double"}, "lon": {"bsonType": "double"}, "hits": {"bsonType": "long"}}},
            "tags": {"bsonType": "array", "items": {"bsonType": "string"}}}}
        """

    /// What it has uploaded in a scenario, in order: changesets with their versions and times.
    public static func uploads(in scenario: String) throws -> [Document] {
        try RealmVectors.objects("frames.jsonl.gz").filter {
            $0["scenario"]?.stringValue == scenario && $0["direction"] == "c>s"
                && $0["decoded"]?.documentValue?["type"] == "upload"
        }.flatMap { $0["decoded"]?.documentValue?.documents("changesets") ?? [] }
    }
}

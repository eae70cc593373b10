import DocumentModel
import DocumentSchema
import DocumentStore
import Postgres
import SyncEngine
import Testing

/// Rows that an external writer changes, as with `psql`.
struct ExternalWriterTests {
    let partition = Partition.conversation("1")

    private func insert(_ json: String, _ fixture: StoreFixture) async throws {
        try await fixture.client.execute("insert into \(fixture.table) (document) values ($1)", [.text(json)])
    }

    private func body(_ id: String, _ fixture: StoreFixture) async throws -> String {
        try await fixture.client.query("select body::text from \(fixture.table) where _id = $1", [.text(id)])[0].decode(
            0)
    }

    @Test func `a row of an external writer gets its forms, its revision and its change row`() async throws {
        try await StoreFixture.with { fixture in
            try await insert(
                #"{"text": "hi", "partition": "conversation=1", "_id": "a", "at": {"$date": "2026-01-01T00:00:00Z"}, "n": 5, "x": 1.5}"#,
                fixture)
            #expect(
                try await body("s:a", fixture)
                    == #"{"_id":"a","n":{"$numberInt":"5"},"x":{"$numberDouble":"1.5"},"at":{"$date":{"$numberLong":"1767225600000"}},"text":"hi","partition":"conversation=1"}"#
            )
            #expect(try await fixture.changes(in: partition).map(\.operation) == ["insert"])
            #expect(try await fixture.head(of: partition) == 1)
        }
    }

    @Test func `an external write against the schema fails, and names the path`() async throws {
        try await StoreFixture.with { fixture in
            try await fixture.store.setSchemas(
                [
                    .init(database: "RChat", collection: "ChatMessage"): DocumentSchema(
                        [
                            "bsonType": "object", "required": ["text"],
                            "properties": [
                                "text": ["bsonType": "string", "minLength": 2], "n": ["bsonType": "int", "maximum": 9],
                                "place": [
                                    "bsonType": "object", "additionalProperties": false,
                                    "properties": ["city": ["bsonType": "string"]],
                                ],
                            ],
                        ], dialect: .collection)
                ], app: StoreFixture.app)
            try await insert(
                #"{"_id": "a", "partition": "p", "text": "hi", "n": 5, "place": {"city": "Oslo"}}"#, fixture)
            for (change, message) in [
                (#"{"n": 10}"#, "n: is too large"), (#"{"n": "x"}"#, "n: is string, the schema asks for int"),
                (#"{"text": "h"}"#, "text: has 1 characters, at least 2 are asked for"),
                (#"{"place": {"town": "Oslo"}}"#, "place.town: isn't declared in the schema"),
            ] {
                let error = await #expect(throws: PostgresError.self) {
                    try await fixture.client.execute(
                        "update \(fixture.table) set document = document || $1::jsonb", [.text(change)])
                }
                #expect(error?.message == message)
            }
            let error = await #expect(throws: PostgresError.self) {
                try await fixture.client.execute("update \(fixture.table) set document = document - 'text'")
            }
            #expect(error?.message == "text: is required")
            try await fixture.client.execute("update \(fixture.table) set document = document || '{\"n\": 6}'")
        }
    }

    @Test func `changes by external writers and by devices share one numbering without gaps`() async throws {
        try await StoreFixture.with { fixture in
            try await fixture.grant(in: partition)
            _ = try await fixture.commit(.of(1, [.insert("a", ["n": 1], in: partition)], in: partition))
            try await fixture.client.withTransaction { transaction in
                try await transaction.execute(
                    "update \(fixture.table) set document = document || '{\"n\": 2}' where _id = 's:a'")
                try await transaction.execute(
                    """
                    insert into \(fixture.table) (document)
                    select jsonb_build_object('_id', 'h' || i, 'partition', 'conversation=1') from generate_series(1, 50) i
                    """)
                try await transaction.execute("delete from \(fixture.table) where _id = 's:h7'")
            }
            _ = try await fixture.commit(.of(2, [.update("a", ["$inc": ["n": 1]])], in: partition))
            let numbers = try await fixture.changes(in: partition).map(\.number)
            #expect(numbers == Array(1...52))
            #expect(try await fixture.document("a")?["n"]?.int64Value == 3)
        }
    }

    @Test func `a device's older write loses to a later external one on the same field only`() async throws {
        try await StoreFixture.with { fixture in
            try await fixture.grant(in: partition)
            _ = try await fixture.commit(.of(1, [.insert("a", ["x": 0, "y": 0], in: partition)], in: partition))
            try await fixture.client.execute("update \(fixture.table) set document = document || '{\"x\": 7}'")
            let base = Revision(epoch: 1, number: 1)
            let write = Operation.update("a", ["$set": ["x": 1, "y": 1]], incarnation: base, base: base)
            let result = try await fixture.commit(.of(2, [write], in: partition))
            #expect(result.acknowledgement?.lost == [LostWrite(operation: 0, reason: .overwritten, paths: ["x"])])
            let document = try await fixture.document("a")
            #expect(document?["x"]?.int64Value == 7)
            #expect(document?["y"]?.int64Value == 1)
        }
    }

    @Test func `an external write keeps unchanged values exactly and gives the rest its old type`() async throws {
        try await StoreFixture.with { fixture in
            let exact =
                #"{"_id":"a","partition":"conversation=1","long":{"$numberLong":"5"},"big":{"$numberLong":"9007199254740993"},"double":{"$numberDouble":"3.0"},"at":{"$date":{"$numberLong":"1000"}},"id":{"$oid":"64f000000000000000000001"},"nul":"a\u0000b","list":[{"$numberLong":"1"},{"k":{"$numberDouble":"2.0"}}],"z":{"b":{"$numberInt":"1"},"a":{"$numberInt":"2"}}}"#
            try await fixture.client.execute(
                "insert into \(fixture.table) (body) values ($1)", [.text(exact)])
            #expect(try await body("s:a", fixture) == exact)
            try await fixture.client.execute(
                """
                update \(fixture.table) set document = document
                    || '{"long": 6, "double": 4, "at": 2000, "id": "64f000000000000000000002", "new": 1}'
                    || jsonb_build_object('list', jsonb_build_array(9) || (document -> 'list'))
                    || '{"z": {"a": 2, "b": 3}}'
                """)
            #expect(
                try await body("s:a", fixture)
                    == #"{"_id":"a","partition":"conversation=1","long":{"$numberLong":"6"},"big":{"$numberLong":"9007199254740993"},"double":{"$numberDouble":"4.0"},"at":{"$date":{"$numberLong":"2000"}},"id":{"$oid":"64f000000000000000000002"},"nul":"a\u0000b","list":[{"$numberInt":"9"},{"$numberLong":"1"},{"k":{"$numberDouble":"2.0"}}],"z":{"b":{"$numberInt":"3"},"a":{"$numberInt":"2"}},"new":{"$numberInt":"1"}}"#
            )
        }
    }

    @Test func `a text with U+0000 can be replaced by one without`() async throws {
        try await StoreFixture.with { fixture in
            try await fixture.client.execute(
                "insert into \(fixture.table) (body) values ($1)",
                [.text(#"{"_id": "a", "partition": "conversation=1", "t": "a\u0000b", "l": ["\u0000"]}"#)])
            try await fixture.client.execute(
                #"update \#(fixture.table) set document = document || '{"t": "c", "l": ["d", "e"]}'"#)
            #expect(
                try await body("s:a", fixture)
                    == #"{"_id":"a","partition":"conversation=1","t":"c","l":["d","e"]}"#)
        }
    }

    @Test(arguments: ["[]", "null", #""a""#, #"["_id"]"#, "5"])
    func `what is no object is refused by a message, not by an internal error`(value: String) async throws {
        try await StoreFixture.with { fixture in
            for column in ["document", "body"] {
                let failure = await #expect(throws: PostgresError.self) {
                    try await fixture.client.execute("insert into \(fixture.table) (\(column)) values ('\(value)')")
                }
                #expect(failure?.message == "the document: is no object", "\(failure?.message ?? "")")
            }
        }
    }

    @Test(arguments: [
        (#"{"at": "yesterday"}"#, "at"), (#"{"a": {"id": 5}}"#, "a.id"), (#"{"list": [{"$unknown": 1}]}"#, "list.0"),
        (#"{"n": 123456789012345678901234567890}"#, "n"), (#"{"_id": "b"}"#, "_id"),
        (#"{"x": {"b": 1, "$date": "never"}}"#, "x"), (#"{"x": {"b": 1, "$undefined": true}}"#, "x"),
        (
            #"{"x": "# + String(repeating: "[", count: 100) + String(repeating: "]", count: 100) + "}",
            "x" + String(repeating: ".0", count: 99)
        ),
    ])
    func `an ambiguous value fails the UPDATE and names the path`(change: String, path: String) async throws {
        try await StoreFixture.with { fixture in
            try await insert(
                #"{"_id": "a", "partition": "conversation=1", "at": {"$date": 5}, "a": {"id": {"$oid": "64f000000000000000000001"}}}"#,
                fixture)
            let failure = await #expect(throws: PostgresError.self) {
                try await fixture.client.execute(
                    "update \(fixture.table) set document = document || $1::jsonb", [.text(change)])
            }
            #expect(failure?.message.hasPrefix(path + ": ") == true, "\(failure?.message ?? "")")
            #expect(try await fixture.head(of: partition) == 1)
        }
    }

    @Test(arguments: [
        #"{"$numberDouble":"4343.0"}"#, #"{"$numberDecimal":"4344.00"}"#, #"{"$symbol":"s"}"#,
        #"{"$date":{"$numberLong":"5"}}"#,
    ])
    func `SQL updates documents with any _id, and inserts those with keys`(id: String) async throws {
        try await StoreFixture.with { fixture in
            try await fixture.grant(in: partition)
            let value = try ExtendedJSON.parse(id)
            let document: Document = ["_id": value, "n": 1, "partition": .string("conversation=1")]
            let operation = Operation(collection: "ChatMessage", id: value, kind: .insert(document))
            _ = try await fixture.commit(.of(1, [operation, .insert("b", ["n": 1], in: partition)], in: partition))
            try await fixture.client.execute("update \(fixture.table) set document = document || '{\"n\": 2}'")
            let bodies = try await fixture.client.query("select body::text from \(fixture.table) order by _id").decode(
                String.self)
            #expect(bodies.filter { $0.contains(#""n":{"$numberInt":"2"}"#) }.count == 2, "\(bodies)")
            #expect(bodies.contains { $0.hasPrefix("{\"_id\":" + id) }, "\(bodies)")
            let other = #"{"_id": \#(id), "partition": "conversation=1"}"#
            let failure = await #expect(throws: PostgresError.self) {
                try await fixture.client.execute("delete from \(fixture.table) where _id <> 's:b'")
                try await insert(other, fixture)
            }
            #expect(
                failure?.message == "_id: a document that SQL inserts needs a string, ObjectId, UUID or integer")
        }
    }

    @Test func `an external write that changes the partition value moves the document`() async throws {
        try await StoreFixture.with { fixture in
            try await insert(#"{"_id": "a", "partition": "conversation=1"}"#, fixture)
            try await fixture.client.execute(
                "update \(fixture.table) set document = document || '{\"partition\": \"conversation=2\"}'")
            #expect(try await fixture.changes(in: partition).map(\.operation) == ["insert", "delete"])
            #expect(try await fixture.changes(in: .conversation("2")).map(\.operation) == ["update"])
        }
    }

    @Test func `an open transaction delays only its own documents`() async throws {
        try await StoreFixture.with { fixture in
            try await fixture.grant(in: partition)
            _ = try await fixture.commit(
                .of(1, [.insert("a", ["n": 0], in: partition), .insert("b", ["n": 0], in: partition)], in: partition))
            let committer = GroupCommitter(store: fixture.store)
            let (held, holds) = AsyncStream.makeStream(of: Void.self)
            let (released, release) = AsyncStream.makeStream(of: Void.self)
            try await withThrowingTaskGroup(of: Void.self) { group in
                group.addTask { try await committer.run() }
                group.addTask {
                    try await fixture.client.withTransaction { transaction in
                        try await transaction.execute(
                            "update \(fixture.table) set document = document || '{\"n\": 10}' where _id = 's:a'")
                        holds.yield()
                        for await _ in released { break }
                    }
                }
                for await _ in held { break }
                let increment = ["$inc": ["n": 1]] as Document
                async let blocked = committer.commit(
                    .of(1, [.update("a", increment)], device: "tablet", in: partition), app: StoreFixture.app)
                let other = try await committer.commit(
                    .of(1, [.update("b", increment)], device: "watch", in: partition), app: StoreFixture.app)
                #expect(other.acknowledgement != nil)
                #expect(try await fixture.document("a")?["n"]?.int64Value == 0)
                release.yield()
                #expect(try await blocked.acknowledgement != nil)
                #expect(try await fixture.document("a")?["n"]?.int64Value == 11)
                group.cancelAll()
            }
        }
    }
}

import DocumentModel
import DocumentStore
import Postgres
import TestSupport
import Testing

@Suite struct KeyedWriteTests {
    private static let mine = Partition.conversation("mine"), other = Partition.conversation("other")

    private static func write(
        _ change: KeyedWrite.Change, _ id: String, in partition: Partition = mine, of collection: String = "ChatMessage"
    ) throws -> KeyedWrite {
        try KeyedWrite(
            change, of: .string(id), in: .init(database: "RChat", collection: collection), partition: partition)
    }

    private static func document(_ id: String, _ n: Int32, in partition: Partition = mine) -> Document {
        ["_id": .string(id), "partition": partition.value ?? .null, "n": .int32(n)]
    }

    private static func commit(
        _ writes: [KeyedWrite], in fixture: StoreFixture, with statements: [PostgresStatement] = [],
        lockTimeout: Duration = .milliseconds(500)
    ) async throws -> [PostgresRows] {
        try await fixture.store.commit(writes, app: StoreFixture.app, with: statements, lockTimeout: lockTimeout) {
            error in
            error.sqlstate == "PT409" ? Refused() : nil
        }
    }

    private struct Refused: Error {}

    @Test func `what a schema refuses is named with its document and path`() async throws {
        try await StoreFixture.with(validate: { _, document in
            document["text"] == nil ? .init(reason: "is required", path: "text") : nil
        }) { fixture in
            let collection = fixture.store.collection("ChatMessage", database: "RChat", app: StoreFixture.app)
            let error = await #expect(throws: DocumentStoreError.self) {
                try await collection.insertOne(["_id": "a", "partition": "conversation=1"])
            }
            #expect(error?.code == .schemaViolation && error?.path == "text")
            #expect(error?.message == #"the document "a" of RChat.ChatMessage: text: is required"#)
        }
    }

    @Test func `documents of several collections and partitions are written together`() async throws {
        try await StoreFixture.with { fixture in
            _ = try await Self.commit(
                [
                    Self.write(.insert(Self.document("a", 1)), "a"), Self.write(.insert(Self.document("b", 1)), "b"),
                    Self.write(.insert(Self.document("u", 1)), "u", of: "User"),
                    Self.write(.insert(Self.document("c", 1, in: Self.other)), "c", in: Self.other),
                ], in: fixture)
            let rows = try await Self.commit(
                [
                    Self.write(.update(["$set": ["n": 2, "deep.x": 3]]), "a"), Self.write(.delete, "b"),
                    Self.write(.update(["$set": ["n": 2]]), "u", of: "User"),
                    // It is in another partition, and this one is nowhere.
                    Self.write(.update(["$set": ["n": 2]]), "c"), Self.write(.delete, "missing"),
                ], in: fixture, with: [PostgresStatement("select 7::bigint"), PostgresStatement("select 8::bigint")])
            #expect(try rows.map { try $0.decode(Int64.self) } == [[7], [8]])
            #expect(try await fixture.document("a")?["n"] == 2)
            #expect(try await fixture.document("a")?["deep"] == ["x": 3])
            #expect(try await fixture.document("b") == nil)
            #expect(try await fixture.document("u", in: "User")?["n"] == 2)
            #expect(try await fixture.document("c")?["n"] == 1)
            let changes = try await fixture.changes(in: Self.mine)
            #expect(changes.map(\.number) == Array(1...6))
            #expect(changes.map(\.operation).sorted() == ["delete", "insert", "insert", "insert", "update", "update"])
            #expect(try await fixture.head(of: Self.other) == 1)
        }
    }

    @Test func `it writes what the collection's own operations write`() async throws {
        try await StoreFixture.with { fixture in
            let messages = fixture.store.collection("ChatMessage", database: "RChat", app: StoreFixture.app)
            try await messages.insertOne(Self.document("x1", 1))
            _ = try await messages.updateOne(["_id": "x1"], ["$set": ["n": 5, "m": "new"], "$unset": ["gone": ""]])
            _ = try await Self.commit([Self.write(.insert(Self.document("x2", 1)), "x2")], in: fixture)
            _ = try await Self.commit(
                [Self.write(.update(["$set": ["n": 5, "m": "new"], "$unset": ["gone": ""]]), "x2")], in: fixture)
            _ = try await messages.deleteOne(["_id": "x1"])
            _ = try await Self.commit([Self.write(.delete, "x2")], in: fixture)
            let rows = try await fixture.client.query(
                """
                select operation, replace(before::text, 'x2', 'x1'), replace(after::text, 'x2', 'x1') from partita.changes
                where app = $1 and partition = $2 order by revision
                """, [.text(StoreFixture.app), .text(Self.mine.text)])
            let changes = try rows.map { row in
                let (operation, before, after) = try row.decode((String, String?, String?).self)
                return [operation, before ?? "", after ?? ""]
            }
            #expect(changes.count == 6)
            let byTheirs = [0, 1, 4].map { changes[$0] }, byOurs = [2, 3, 5].map { changes[$0] }
            #expect(byTheirs == byOurs, "\(changes)")
        }
    }

    @Test func `nothing is written if one document is refused`() async throws {
        try await StoreFixture.with { fixture in
            _ = try await Self.commit([Self.write(.insert(Self.document("a", 1)), "a")], in: fixture)
            let error = await #expect(throws: DocumentStoreError.self) {
                try await Self.commit(
                    [
                        Self.write(.insert(Self.document("b", 1)), "b"),
                        Self.write(.insert(Self.document("a", 2, in: Self.other)), "a", in: Self.other),
                    ], in: fixture, with: [PostgresStatement("create table public.made (n int)")])
            }
            #expect(error?.code == .duplicateKey)
            #expect(error?.path == "_id")
            #expect(try await fixture.document("b") == nil)
            #expect(
                try await fixture.client.query("select to_regclass('public.made')::text").decode(String?.self) == [nil])
        }
    }

    @Test func `what the caller's statements refuse is refused at once`() async throws {
        try await StoreFixture.with { fixture in
            try await fixture.client.execute("create sequence public.attempts")
            await #expect(throws: Refused.self) {
                try await Self.commit(
                    [Self.write(.insert(Self.document("a", 1)), "a")], in: fixture,
                    with: [
                        PostgresStatement("select nextval('public.attempts')"),
                        PostgresStatement("select partita.require_count(1, 2)"),
                    ])
            }
            #expect(try await fixture.document("a") == nil)
            #expect(try await fixture.client.query("select nextval('public.attempts')").decode(Int64.self) == [2])
        }
    }

    @Test func `it waits for a document that another transaction has locked`() async throws {
        try await StoreFixture.with { fixture in
            _ = try await Self.commit([Self.write(.insert(Self.document("a", 1)), "a")], in: fixture)
            let update = try Self.write(.update(["$set": ["n": 2]]), "a")
            try await withThrowingTaskGroup(of: Void.self) { group in
                try await fixture.client.withTransaction { transaction in
                    _ = try await transaction.query("select from \(fixture.table) where _id = 's:a' for update", [])
                    let error = await #expect(throws: DocumentStoreError.self) {
                        try await Self.commit([update], in: fixture, lockTimeout: .milliseconds(20))
                    }
                    #expect(error?.code == .conflict)
                    group.addTask { _ = try await Self.commit([update], in: fixture, lockTimeout: .seconds(20)) }
                    try await eventually("it waits for the lock") {
                        try await fixture.client.query("select count(*) from pg_locks where not granted").decode(
                            Int.self)
                            != [0]
                    }
                }
                try await group.waitForAll()
            }
            #expect(try await fixture.document("a")?["n"] == 2)
        }
    }

    @Test func `two writes of one document aren't written`() async throws {
        try await StoreFixture.with { fixture in
            _ = try await Self.commit([Self.write(.insert(Self.document("a", 1)), "a")], in: fixture)
            let update = try Self.write(.update(["$set": ["n": 2]]), "a")
            let insert = try Self.write(.insert(Self.document("a", 3, in: Self.other)), "a", in: Self.other)
            for writes in [[update, insert], [insert, update], [insert, insert], [update, update]] {
                let error = await #expect(throws: DocumentStoreError.self) {
                    try await Self.commit(writes, in: fixture)
                }
                #expect(error?.code == .conflict)
            }
            #expect(try await fixture.document("a")?["n"] == 1)
        }
    }
}

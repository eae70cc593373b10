import DocumentModel
import DocumentStore
import SyncEngine
import TestSupport
import Testing

/// Documents without a partition value, in an app whose partition key isn't required.
struct NullPartitionTests {
    private static let talk = Partition.conversation("1")

    private func partitions(_ fixture: StoreFixture) async throws -> [String] {
        try await fixture.client.query("select _id || ' ' || partition from \(fixture.table) order by _id")
            .decode(String.self)
    }

    private func findings(_ fixture: StoreFixture) async throws -> [StoreFinding] {
        try await StoreCheck(fixture.store.storage(of: StoreFixture.app), on: fixture.client).findings()
    }

    @Test func `the key is set and unset by every writer, and the document moves`() async throws {
        try await StoreFixture.with(hasNullPartition: true) { fixture in
            let messages = fixture.store.collection("ChatMessage", database: "RChat", app: StoreFixture.app)
            try await messages.insertMany([["_id": "a"], ["_id": "b", "partition": .null]])
            try await fixture.client.execute(
                """
                insert into \(fixture.table) (document) values
                    ('{"_id": "c"}'), ('{"_id": "d", "partition": null}'), ('{"_id": "e", "partition": "conversation=1"}')
                """)
            #expect(
                try await partitions(fixture)
                    == ["s:a n:", "s:b n:", "s:c n:", "s:d n:", "s:e s:conversation=1"])
            #expect(try await fixture.head(of: .null) == 4)

            try await messages.updateOne(["_id": "a"], ["$set": ["partition": "conversation=1"]])
            try await messages.updateOne(["_id": "e"], ["$unset": ["partition": ""]])
            try await fixture.client.execute(
                "update \(fixture.table) set document = document || '{\"partition\": \"conversation=1\"}' where _id = 's:c'"
            )
            #expect(
                try await partitions(fixture)
                    == ["s:a s:conversation=1", "s:b n:", "s:c s:conversation=1", "s:d n:", "s:e n:"])
            try await fixture.client.execute(
                "update \(fixture.table) set document = document - 'partition' where _id in ('s:b', 's:c', 's:d')")
            #expect(
                try await partitions(fixture)
                    == ["s:a s:conversation=1", "s:b n:", "s:c n:", "s:d n:", "s:e n:"])
            let moves = try await fixture.changes(in: .null).map { "\($0.operation) \($0.id)" }
            // The order within one transaction of SQL is that of Postgres.
            #expect(
                moves.prefix(7) == [
                    "insert s:a", "insert s:b", "insert s:c", "insert s:d", "delete s:a", "update s:e", "delete s:c",
                ])
            #expect(moves.dropFirst(7).sorted() == ["update s:b", "update s:c", "update s:d"])
            let found = try await findings(fixture)
            #expect(found == [])
        }
    }

    @Test func `a device writes without the key, and moves documents where it may write`() async throws {
        try await StoreFixture.with(hasNullPartition: true) { fixture in
            try await fixture.grant(in: .null)
            let added = try await fixture.commit(
                .of(
                    1,
                    ["a", "b"].map {
                        .init(collection: "ChatMessage", id: .string($0), kind: .insert(["_id": .string($0), "n": 1]))
                    }, in: .null))
            #expect(added.acknowledgement != nil)
            #expect(try await fixture.document("a") == ["_id": "a", "n": 1])
            let move = Operation.update("a", ["$set": ["partition": "conversation=1"]])
            #expect(try await fixture.commit(.of(2, [move], in: .null)).acknowledgement == nil)
            try await fixture.grant(in: Self.talk)
            #expect(try await fixture.commit(.of(3, [move], in: .null)).acknowledgement != nil)
            #expect(try await partitions(fixture) == ["s:a s:conversation=1", "s:b n:"])
            let back = Operation.update("a", ["$unset": ["partition": ""]])
            #expect(try await fixture.commit(.of(1, [back], in: Self.talk)).acknowledgement != nil)
            #expect(try await partitions(fixture) == ["s:a n:", "s:b n:"])
            try await fixture.grant(.read, in: .null)
            let again = Operation.update("a", ["$set": ["n": 2]])
            #expect(try await fixture.commit(.of(4, [again], in: .null)).acknowledgement == nil)
            let found = try await findings(fixture)
            #expect(found == [])
        }
    }

    @Test func `where the key is required, documents without it are in no partition that devices open`() async throws {
        try await StoreFixture.with { fixture in
            try await fixture.grant(in: .null)
            let upload = Upload.of(
                1, [.init(collection: "ChatMessage", id: "a", kind: .insert(["_id": "a"]))], in: .null)
            #expect(try await fixture.commit(upload).acknowledgement == nil)
            try await fixture.client.execute("insert into \(fixture.table) (document) values ('{\"_id\": \"b\"}')")
            #expect(try await partitions(fixture).allSatisfy { $0.hasPrefix("s:b i:RChat.ChatMessage:") })
            // A service that doesn't know of null partitions leaves the setting as it is.
            _ = try await fixture.client.query(
                "select partita.ensure_collection('rchat', 'RChat', 'ChatMessage', 'partition', true)")
            #expect(try await findings(fixture).map(\.code) == [.partitionKey, .misplaced])
            _ = try await fixture.client.query(
                "select partita.ensure_collection('rchat', 'RChat', 'ChatMessage', 'partition')")
            let kept = try await fixture.client.query(
                "select null_partition from partita.collections where name = 'ChatMessage'")
            #expect(try kept.decode(Bool.self) == [true])
        }
    }
}

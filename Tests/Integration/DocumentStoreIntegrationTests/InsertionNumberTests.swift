import DocumentModel
import DocumentStore
import SyncEngine
import Testing

struct InsertionNumberTests {
    let partition = Partition.conversation("1")

    @Test func `a document keeps its number until it is deleted, and the next one has a greater one`() async throws {
        try await StoreFixture.with { fixture in
            try await fixture.grant(in: partition)
            try await fixture.grant(in: .conversation("2"))
            let messages = fixture.store.collection("ChatMessage", database: "RChat", app: StoreFixture.app)
            func number() async throws -> Int64? { try await messages.insertionNumber(of: "m1") }
            #expect(try await number() == nil)
            _ = try await fixture.commit(.of(1, [.insert("m1", ["n": 1], in: partition)], in: partition))
            _ = try await fixture.commit(.of(2, [.insert("m2", ["n": 1], in: partition)], in: partition))
            let first = try #require(try await number())
            try await fixture.client.withTransaction { transaction in
                let found = try await messages.numbered("m1", in: transaction)
                #expect(found?.insertion == first && found?.document["n"]?.int64Value == 1)
                #expect(try await messages.numbered("m3", in: transaction) == nil)
            }
            #expect(try await messages.insertionNumbers(of: ["s:m1", "s:m2", "s:m3"]).count == 2)

            try await messages.updateOne(["_id": "m1"], ["$set": ["n": 2]])
            #expect(try await number() == first)
            try await messages.updateOne(["_id": "m1"], ["$set": ["partition": "conversation=2"]])
            #expect(try await number() == first)
            try await messages.updateOne(["_id": "m1"], ["$set": ["partition": "conversation=1"]])
            #expect(try await number() == first)

            // Two devices at the same time: both are committed together, and the row stays.
            let results = try await fixture.store.commit(
                [
                    .of(3, [.delete("m1")], in: partition),
                    .of(4, [.insert("m1", ["n": 3], in: partition)], in: partition),
                ], app: StoreFixture.app)
            #expect(results.count == 2)
            let second = try #require(try await number())
            #expect(second > first)

            // And in a transaction of a function.
            try await fixture.store.withTransaction(app: StoreFixture.app) { session in
                let messages = session.collection(messages.namespace.collection, database: messages.namespace.database)
                try await messages.deleteOne(["_id": "m1"])
                _ = try await messages.insertOne(["_id": "m1", "partition": "conversation=1", "n": 4])
            }
            #expect(try #require(try await number()) > second)
            #expect(try await messages.findOne(["_id": "m1"])?["n"]?.int64Value == 4)
        }
    }
}

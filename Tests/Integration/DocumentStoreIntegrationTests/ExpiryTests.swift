import DocumentModel
import DocumentStore
import Foundation
import Testing

@Suite struct ExpiryTests {
    @Test func `expired documents are deleted by the regular way of writing`() async throws {
        try await StoreFixture.with { fixture in
            let sessions = fixture.store.collection("Session", database: "RChat", app: StoreFixture.app)
            try await sessions.createIndex(IndexModel([.init("seen")], expireAfterSeconds: 3600))
            let now = Int64(Date().timeIntervalSince1970 * 1000)
            var documents: [Document] = (0..<620).map {
                ["_id": .string("old\($0)"), "partition": "p", "seen": .date(now - 3_700_000)]
            }
            documents += [
                ["_id": "new", "partition": "p", "seen": .date(now)], ["_id": "none", "partition": "p"],
                ["_id": "text", "partition": "p", "seen": "1970"],
                ["_id": "two", "partition": "p", "seen": [.date(now), .date(now - 4_000_000)]],
            ]
            try await sessions.insertMany(documents)
            let sweeper = ExpirySweeper(store: fixture.store)
            let other = ExpirySweeper(store: fixture.store)
            #expect(try await sweeper.sweep() == 621)
            #expect(try await other.sweep() == 0)
            #expect(
                try await sessions.find().compactMap { $0["_id"]?.stringValue }.sorted() == ["new", "none", "text"])
            let deletes = try await fixture.client.query(
                "select count(*) from partita.changes where operation = 'delete' and collection = 'Session'"
            ).first?.decode(0, as: Int.self)
            #expect(deletes == 621)
        }
    }

    @Test func `a sweeper that lost its lease deletes nothing`() async throws {
        try await StoreFixture.with { fixture in
            let sessions = fixture.store.collection("Session", database: "RChat", app: StoreFixture.app)
            try await sessions.createIndex(IndexModel([.init("seen")], expireAfterSeconds: 0))
            let sweeper = ExpirySweeper(store: fixture.store)
            try await sweeper.sweep()
            try await sessions.insertOne(["_id": "old", "partition": "p", "seen": .date(0)])
            try await fixture.client.execute(
                "update partita.work_leases set holder = 'another', fence = fence + 1, expires_at = now() + interval '1 hour'"
            )
            #expect(try await sweeper.sweep() == 0)
            #expect(try await sessions.countDocuments() == 1)
        }
    }
}

import DocumentModel
import DocumentStore
import SyncEngine
import TestSupport
import Testing

struct StoreCheckTests {
    private static let partition = Partition.conversation("1")
    private static let elsewhere = Partition.conversation("2")

    /// A store after writes of each kind: by devices and by other hands, deletes, a move, another epoch.
    private func withFilled(_ body: @Sendable (StoreFixture, StoreCheck) async throws -> Void) async throws {
        try await StoreFixture.with { fixture in
            for partition in [Self.partition, Self.elsewhere] { try await fixture.grant(in: partition) }
            let operations = (0..<9).map { Operation.insert("\($0)", ["text": "hello"], in: Self.partition) }
            _ = try await fixture.commit(.of(1, operations, in: Self.partition))
            _ = try await fixture.commit(
                .of(
                    2,
                    [
                        .update("1", ["$set": ["text": .double(1.5)]]), .delete("2"),
                        .update("3", ["$set": ["partition": "conversation=2"]]),
                        .update("8", ["$set": ["partition": "conversation=2"]]),
                    ], in: Self.partition))
            // It returns to the partition that it has left.
            _ = try await fixture.commit(
                .of(1, [.update("8", ["$set": ["partition": "conversation=1"]])], in: Self.elsewhere))
            for id in ["x", "y"] {
                try await fixture.client.execute(
                    "insert into \(fixture.table) (document) values ($1)",
                    [.text(#"{"_id": "\#(id)", "partition": "conversation=1", "n": 5}"#)])
            }
            try await fixture.client.execute("delete from \(fixture.table) where _id = 's:x'")
            // Values that have several forms, and a field that looks like a type's.
            let collection = fixture.store.collection("ChatMessage", database: "RChat", app: StoreFixture.app)
            try await collection.insertOne([
                "_id": "odd", "partition": "conversation=1", "stored": ["$set": ["n": 1]], "symbol": .symbol("s"),
                "nan": .decimal128(Decimal128(high: 0x7C00_0000_0000_0000, low: 0x12)),
                "zero": .decimal128(Decimal128(high: 0x3041_ED09_BEAD_87C0, low: 0x378D_8E64_0000_0000)),
            ])
            _ = try await fixture.client.query("select partita.begin_epoch('test')")
            _ = try await fixture.commit(.of(3, [.update("4", ["$set": ["text": "new"]])], in: Self.partition))
            try await body(fixture, StoreCheck(fixture.store.storage(of: StoreFixture.app), on: fixture.client))
        }
    }

    @Test func `a store has no findings, whoever wrote`() async throws {
        try await withFilled { _, check in
            let found = try await check.findings()
            #expect(found == [])
        }
    }

    /// What a person or a mistake may do to the tables, by what is found.
    private static let damages: [(StoreFinding.Code, String)] = [
        (.epoch, "update partita.partitions set epoch = 77 where partition = 's:conversation=2'"),
        (
            .pendingChanges,
            "insert into partita.pending (xid, relation, _id) select '3', relation, 's:1' from partita.collections limit 1"
        ),
        (.triggers, "alter table TABLE disable trigger partita_collect"),
        (.partitionKey, "update partita.collections set partition_key = 'owner'"),
        (.misplaced, "update TABLE set partition = 's:conversation=2' where _id = 's:5'"),
        (.queryForm, "update TABLE set document = jsonb_set(document, '{text}', '\"bye\"') where _id = 's:5'"),
        (.afterHead, "update TABLE set epoch = 2000000000, revision = 1000 where _id = 's:5'"),
        (
            .sharedRevision,
            "update TABLE set revision = (select revision from TABLE where _id = 's:6') where _id = 's:5'"
        ),
        (.tombstone, "update partita.tombstones set _id = 's:5' where _id = 's:2'"),
        (.historyGap, "delete from partita.changes where _id = 's:5'"),
        (.historyGap, "truncate partita.changes"),
        (.history, "delete from TABLE where _id = 's:5'"),
        (
            .unpublished,
            "update partita.changes set wall_time = wall_time - interval '61 seconds'"
        ),
    ]

    @Test(arguments: damages.indices)
    func `damage is found, and named`(place: Int) async throws {
        let (code, damage) = Self.damages[place]
        try await withFilled { fixture, check in
            try await fixture.client.withTransaction { transaction in
                // As somebody who switches the triggers off.
                try await transaction.execute("set local session_replication_role = replica")
                let statement = damage.split(separator: "TABLE", omittingEmptySubsequences: false)
                    .joined(separator: fixture.table)
                try await transaction.execute(statement)
            }
            let found = try await check.findings()
            #expect(found.contains { $0.code == code && $0.count > 0 && !$0.example.isEmpty }, "\(found)")
        }
    }

    @Test func `every finding has a test`() {
        #expect(Set(Self.damages.map(\.0)) == Set(StoreFinding.Code.allCases))
    }
}

import DocumentModel
import DocumentStore
import SyncEngine
import Testing

struct HoldingsTests {
    let partition = Partition.conversation("1")

    @Test func `holdings are those of a whole catch-up, in one partition`() async throws {
        try await StoreFixture.with { fixture in
            try await fixture.grant(in: partition)
            try await fixture.grant(in: .conversation("2"))
            let key = PartitionKey(app: StoreFixture.app, partition: partition)
            let none = try await fixture.store.holdings(of: key, limit: 100)
            #expect(none.head.number == 0)
            #expect(none.holdings == Holdings())

            for version in 1...25 as ClosedRange<Int64> {
                _ = try await fixture.commit(
                    .of(version, [.insert("m\(version % 20)", ["n": .int64(version)], in: partition)], in: partition))
            }
            _ = try await fixture.commit(.of(26, [.delete("m9")], in: partition))
            _ = try await fixture.commit(
                .of(1, [.insert("other", [:], in: .conversation("2"))], in: .conversation("2")))
            let whole = try await fixture.store.catchUp(
                app: StoreFixture.app, partition: partition, from: EpochHistory.beginning, user: "ada", device: "phone")
            var expected = Holdings()
            for entry in whole.entries where entry.body != nil {
                expected.add(revision: entry.revision, incarnation: entry.incarnation)
            }
            #expect(expected.count == 19)
            let found = try await fixture.store.holdings(of: key, limit: 19)
            #expect(found.holdings == expected)
            #expect(found.head == whole.head)
            let tooMany = try await fixture.store.holdings(of: key, limit: 18)
            #expect(tooMany.holdings == nil)
            #expect(tooMany.head == whole.head)
        }
    }
}

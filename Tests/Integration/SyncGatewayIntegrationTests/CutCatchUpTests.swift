import DocumentModel
import SyncEngine
import SyncProtocol
import TestSupport
import Testing

/// A device whose catch-up was cut subscribes again.
@Suite struct CutCatchUpTests {
    @Test func `a catch-up that was cut continues within an epoch, and begins again in another`() async throws {
        // Its own, since the epoch of a gateway ends every session of it.
        let fixture = try await GatewayFixture()
        let partition = fixture.partition()
        try await fixture.grant(.read, to: "ann", in: partition)
        let messages = fixture.store.collection("ChatMessage", database: "RChat", app: GatewayFixture.app)
        for number in 1...3 {
            _ = try await messages.insertOne([
                "_id": .string("\(partition.text)/\(number)"),
                "partition": .string(String(partition.text.dropFirst(2))), "author": "bob",
                "text": .string(String(repeating: "a", count: 1_500_000)), "timestamp": .date(Int64(number)),
            ])
        }
        let cut = try await firstChunk(of: partition, fixture)
        let resume = try #require(cut.catchUp?.resume)
        #expect(cut.catchUp?.isFinal == false)

        let next = try await firstChunk(of: partition, resume: resume, fixture)
        #expect(next.from == cut.to)
        // A text of another version of the server is no reason to close the connection.
        let unknown = try await firstChunk(of: partition, resume: "a later version's", fixture)
        #expect(unknown.from == EpochHistory.beginning)

        try await fixture.postgres.execute("select partita.begin_epoch('restored')")
        let anew = try await firstChunk(of: partition, resume: resume, fixture)
        #expect(anew.from == EpochHistory.beginning)
        let again = try await firstChunk(of: partition, resume: try #require(anew.catchUp?.resume), fixture)
        #expect(again.from == anew.to)

        // An operator's repair begins an epoch, too; a catch-up that is cut after it continues.
        #expect(try await fixture.store.serveAnew(app: GatewayFixture.app, partition: partition) == 1)
        let repaired = try await firstChunk(of: partition, resume: try #require(again.catchUp?.resume), fixture)
        #expect(repaired.from == EpochHistory.beginning)
        let last = try await firstChunk(of: partition, resume: try #require(repaired.catchUp?.resume), fixture)
        #expect(last.from == repaired.to)
        fixture.stop()
    }

    /// What a device gets first that subscribes with nothing shown, and goes away. A session that sees a new epoch ends: the device
    /// connects again.
    private func firstChunk(
        of partition: Partition, resume: String? = nil, _ fixture: GatewayFixture
    ) async throws -> Download {
        for _ in 0..<100 {
            // The end may come in answer to the greeting, too.
            if let device = try? await fixture.device("ann") {
                defer { device.close() }
                try await device.send(
                    .subscribe(partition: partition, checkpoint: EpochHistory.beginning, resume: resume))
                while let frame = try? await device.next() {
                    if case .download(_, let download) = frame { return download }
                }
            }
            try await Task.sleep(for: .milliseconds(100))
        }
        throw Device.Unexpected(what: "no download")
    }
}

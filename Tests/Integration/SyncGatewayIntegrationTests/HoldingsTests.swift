import DocumentModel
import DocumentStore
import SyncEngine
import SyncProtocol
import TestSupport
import Testing

/// A device says what it holds of a partition, and the gateway compares that with what the store has.
@Suite struct HoldingsTests {
    @Test func `what came by a catch-up and live is the same, and is compared with the head only`() async throws {
        let (fixture, partition) = try await filled()
        let device = try await fixture.device("ann")
        var held: [DocumentKey: DocumentChange] = [:]
        let (subscribed, chunks) = try await device.open(partition, checkpoint: EpochHistory.beginning)
        for chunk in chunks { take(chunk, &held) }
        // Live: an update, a deletion, and a document that is deleted and inserted again.
        let messages = fixture.store.collection("ChatMessage", database: "RChat", app: GatewayFixture.app)
        try await messages.updateOne(id(1, partition), ["$set": ["text": "new"]])
        try await messages.deleteOne(id(2, partition))
        try await messages.deleteOne(id(3, partition))
        _ = try await messages.insertOne(message(3, in: partition))
        var head = subscribed.head
        while head.number < subscribed.head.number + 4 {
            let download = try await device.download()
            take(download, &held)
            head = download.to
        }

        let (same, rest) = try await device.open(partition, checkpoint: head, holds: holdings(held))
        #expect(same.holds == .same)
        #expect(rest.flatMap(\.changes).isEmpty)
        #expect(rest.first?.from == head)
        // Of a device that is behind nothing can be said.
        let (behind, missed) = try await device.open(partition, checkpoint: subscribed.head, holds: holdings(held))
        #expect(behind.holds == nil)
        #expect(missed.first?.from == subscribed.head)
        // One that doesn't ask is told nothing.
        #expect(try await device.open(partition, checkpoint: head).subscribed.holds == nil)
    }

    @Test(arguments: ["missing", "old", "more", "another incarnation"])
    func `a device that holds something else gets the whole partition again`(_ fault: String) async throws {
        let (fixture, partition) = try await filled()
        let device = try await fixture.device("ann")
        let (subscribed, chunks) = try await device.open(partition, checkpoint: EpochHistory.beginning)
        var held: [DocumentKey: DocumentChange] = [:]
        for chunk in chunks { take(chunk, &held) }
        let present = holdings(held)
        let key = try #require(held.keys.first)
        switch fault {
        case "missing": held[key] = nil
        case "old": held[key]?.revision.number -= 1
        case "more": held[DocumentKey(collection: "ChatMessage", idText: "s:gone")] = held[key]
        default: held[key]?.incarnation.epoch += 1
        }

        let other = try await fixture.device("ann")
        let (different, again) = try await other.open(partition, checkpoint: subscribed.head, holds: holdings(held))
        #expect(different.holds == .different)
        #expect(again.first?.from == EpochHistory.beginning)
        var repaired: [DocumentKey: DocumentChange] = [:]
        for chunk in again { take(chunk, &repaired) }
        #expect(repaired.count == 20)
        #expect(holdings(repaired) == present)
        #expect(again.last?.to == subscribed.head)
        // What was read of the partition answers the next device, too.
        #expect(
            try await device.open(partition, checkpoint: subscribed.head, holds: present).subscribed.holds == .same)
    }

    @Test func `a partition that nobody wrote to holds nothing`() async throws {
        let fixture = try await GatewayFixture.shared()
        let partition = fixture.partition()
        try await fixture.grant(.read, to: "ann", in: partition)
        let device = try await fixture.device("ann")
        let (subscribed, _) = try await device.open(partition, checkpoint: EpochHistory.beginning)
        let (again, _) = try await device.open(partition, checkpoint: subscribed.head, holds: Holdings())
        #expect(again.holds == .same)
    }

    @Test func `what isn't in the form of the protocol is a bad frame`() async throws {
        let fixture = try await GatewayFixture.shared()
        let device = try await fixture.device("ann")
        device.send(text: #"{"type":"subscribe","partition":"s:x","checkpoint":"1.1","holds":"many"}"#)
        #expect(try await device.error().code == .badFrame)
    }

    /// A partition with 20 documents that ann may read.
    private func filled() async throws -> (GatewayFixture, Partition) {
        let fixture = try await GatewayFixture.shared()
        let partition = fixture.partition()
        try await fixture.grant(.read, to: "ann", in: partition)
        let messages = fixture.store.collection("ChatMessage", database: "RChat", app: GatewayFixture.app)
        _ = try await messages.insertMany((1...20).map { message($0, in: partition) })
        return (fixture, partition)
    }

    private func id(_ number: Int, _ partition: Partition) -> Document {
        ["_id": .string("\(partition.text)/\(number)")]
    }

    private func message(_ number: Int, in partition: Partition) -> Document {
        [
            "_id": .string("\(partition.text)/\(number)"), "partition": .string(String(partition.text.dropFirst(2))),
            "author": "bob", "text": .string("message \(number)"), "timestamp": .date(Int64(number)),
        ]
    }

    /// What a device does with a download, in a few lines of the test's own.
    private func take(_ download: Download, _ held: inout [DocumentKey: DocumentChange]) {
        for change in download.changes {
            guard let key = change.key else { continue }
            held[key] = change.document == nil ? nil : change
        }
    }

    private func holdings(_ held: [DocumentKey: DocumentChange]) -> Holdings {
        var holdings = Holdings()
        for change in held.values { holdings.add(revision: change.revision, incarnation: change.incarnation) }
        return holdings
    }
}

import DocumentModel
import PartitaClient
import Testing

/// A device that has written for days without a connection.
struct LongQueueTests {
    @Test func `a write and its upload cost the same, however many wait`() async throws {
        try await ClientFixture.with { fixture in
            let session = try await fixture.session("phone")
            let room = try await session.openPartition("room=1", waitForFirstSync: true)
            await session.goOffline()
            let fresh = try await fixture.session("tablet")
            let other = try await fresh.openPartition("room=1", waitForFirstSync: true)
            await fresh.goOffline()
            var written = 0
            func write(_ count: Int, to room: PartitionHandle) async throws -> Duration {
                let start = ContinuousClock.now
                for _ in 0..<count {
                    written += 1
                    let number = written
                    try await room.write { $0.insert("Message", ["_id": .int32(Int32(number)), "room": "room=1"]) }
                }
                return ContinuousClock.now - start
            }
            _ = try await write(5000, to: room)
            // In turn, since other tests run beside this one and slow both, and the fastest, which hardly anything has slowed.
            var few = Duration.seconds(100), many = few
            for _ in 0..<60 {
                few = min(few, try await write(3, to: other))
                many = min(many, try await write(3, to: room))
            }
            #expect(many < few * 3, "\(few) and \(many)")

            // The time from which on no more than so many were unanswered.
            var times: [Int: ContinuousClock.Instant] = [:]
            let marks = Array(stride(from: 5000, through: 0, by: -100))
            let states = try await room.states()
            await session.goOnline()
            for await state in states {
                for mark in marks where state.unanswered <= mark && times[mark] == nil { times[mark] = .now }
                if state.unanswered == 0 { break }
            }
            let at = try marks.map { try #require(times[$0]) }
            let hundreds = zip(at, at.dropFirst()).map { $1 - $0 }
            let first = try #require(hundreds.prefix(20).min()), last = try #require(hundreds.suffix(20).min())
            #expect(first < last * 4 + .milliseconds(20), "\(first) and \(last)")
            #expect(try await room.pending().isEmpty)
        }
    }
}

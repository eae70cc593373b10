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
            var written = 0
            func write(_ count: Int) async throws -> Duration {
                let start = ContinuousClock.now
                for _ in 0..<count {
                    written += 1
                    let number = written
                    try await room.write { $0.insert("Message", ["_id": .int32(Int32(number)), "room": "room=1"]) }
                }
                return ContinuousClock.now - start
            }
            /// The fastest of many small ones, since other tests run beside this one: a few writes may get through undisturbed.
            func fastest() async throws -> Duration {
                var best = Duration.seconds(100)
                for _ in 0..<40 { best = min(best, try await write(5)) }
                return best
            }
            let few = try await fastest()
            _ = try await write(5000)
            let many = try await fastest()
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

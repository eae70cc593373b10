import DocumentModel
import DocumentStore
import EventLoop
import Logging
import Postgres
import Testing

/// What a process notices when the database isn't the one that it knew.
struct EpochWatchTests {
    /// What a watch reports.
    private struct Watched {
        let watch = EpochWatch(logger: Logger(label: "test"))
        let seen = Locked<[Seen]>([])

        init() {
            watch.onChange { [seen] change in
                seen.withLock { $0.append(Seen(epoch: change.epoch, isLoss: change.isLoss)) }
            }
        }

        /// What was reported since the last call.
        func take() -> [Seen] {
            seen.withLock { seen in
                defer { seen = [] }
                return seen
            }
        }
    }

    private struct Seen: Equatable {
        let epoch: Int32
        let isLoss: Bool
    }

    @Test func `a process checks nothing before it has seen an epoch, and then reports the others`() async throws {
        try await StoreFixture.with { fixture in
            let watched = Watched()
            try await watched.watch.check(on: fixture.client)
            _ = try await fixture.beginEpoch()
            try await watched.watch.check(on: fixture.client)
            #expect(watched.take() == [])
            try await watched.watch.check(on: fixture.client, isFirst: true)
            try await watched.watch.check(on: fixture.client)
            #expect(watched.take() == [])
            let restored = try await fixture.beginEpoch()
            try await watched.watch.check(on: fixture.client)
            try await watched.watch.check(on: fixture.client)
            #expect(watched.take() == [Seen(epoch: restored, isLoss: true)])
            // Devices are to download everything again; nothing was lost.
            _ = try await fixture.store.serveAnew(app: StoreFixture.app)
            try await watched.watch.check(on: fixture.client)
            let anew = watched.take()
            #expect(anew.map(\.isLoss) == [false])
            #expect(anew.allSatisfy { $0.epoch > restored })
        }
    }

    @Test func `a read that sees an epoch first doesn't hide that it is a loss`() async throws {
        try await StoreFixture.with { fixture in
            let watched = Watched()
            try await watched.watch.check(on: fixture.client, isFirst: true)
            let restored = try await fixture.beginEpoch()
            watched.watch.saw(restored)
            watched.watch.saw(1)  // a read that began before
            try await watched.watch.check(on: fixture.client)
            #expect(watched.take() == [Seen(epoch: restored, isLoss: false), Seen(epoch: restored, isLoss: true)])
        }
    }

    @Test func `a log that is behind what processes saw begins one epoch, however many notice it`() async throws {
        try await StoreFixture.with { fixture in
            _ = try await fixture.store.currentEpoch()  // begins the first one
            let start = try #require(
                await fixture.client.query(
                    "select (extract(epoch from started_at) * 1000000)::bigint from partita.epochs"
                ).decode(Int64.self).first)
            @Sendable func check(
                _ epoch: Int32, _ position: Int64, start: Int64 = start
            ) async throws -> (Int32, Int64, Bool) {
                try await #require(
                    fixture.client.query(
                        "select epoch, log_position, is_loss from partita.epoch_after($1, $2, $3)",
                        [.int(Int64(epoch)), .int(start), .int(position)]
                    ).decode((Int32, Int64, Bool).self).first)
            }
            let position = try await check(1, 0).1
            // Where the log is, and where it was before.
            for known in [position, position - 100] {
                let same = try await check(1, known)
                #expect(same.0 == 1 && !same.2)
            }
            let epochs = try await withThrowingTaskGroup(of: Int32.self) { group in
                for _ in 0..<50 {
                    group.addTask {
                        let (epoch, _, isLoss) = try await check(1, position + 1 << 40)
                        #expect(isLoss)
                        return epoch
                    }
                }
                return try await group.reduce(into: Set()) { $0.insert($1) }
            }
            #expect(epochs.count == 1)
            // The snapshot may be of a time before the epoch that a process saw.
            let known = try #require(epochs.first) + 1000
            let next = try await check(known, 0)
            #expect(next.0 > known && next.2)
            // Another standby has begun the epoch that the process knows.
            let third = try await check(next.0, 0, start: start + 1)
            #expect(third.0 > next.0 && third.2)
            let reasons = try await fixture.client.query("select reason from partita.epochs order by epoch")
                .decode(String.self)
            #expect(
                reasons == [
                    "first", "the write-ahead log went back", "the write-ahead log went back",
                    "another server has begun the same epoch",
                ])
        }
    }
}

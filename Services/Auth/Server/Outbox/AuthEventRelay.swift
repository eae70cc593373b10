import DocumentModel
import DocumentStore
import EventStream
import EventTopics
import Lifecycle
import Logging

/// Carries events from the outbox to the topic `auth-events`, in order per user, each at least once.
///
/// One process relays at a time, by a lease that expires; who lost it meanwhile may send an event once more, which its readers
/// recognise by its id. The relay is poked by whoever wrote an event, and looks by itself now and then.
final class AuthEventRelay: Service {
    private let store: AccountStore
    private let producer: EventProducer
    private let leases: WorkLeases
    private let clock: WallClock
    private let metrics: AuthMetrics
    private let logger: Logger
    private let pollInterval: Duration
    private let pokes: AsyncStream<Void>
    private let pokeContinuation: AsyncStream<Void>.Continuation

    private static let batch = 500
    private static let lease = Duration.seconds(10)
    /// Published events stay for so long, in milliseconds: for who looks into the database.
    private static let retention: Int64 = 3 * 86_400_000

    init(
        store: AccountStore, producer: EventProducer, leases: WorkLeases, clock: WallClock, metrics: AuthMetrics,
        logger: Logger,
        pollInterval: Duration = .seconds(1)
    ) {
        self.store = store
        self.producer = producer
        self.leases = leases
        self.clock = clock
        self.metrics = metrics
        self.logger = logger
        self.pollInterval = pollInterval
        (pokes, pokeContinuation) = AsyncStream.makeStream(bufferingPolicy: .bufferingNewest(1))
    }

    /// Says that events were committed.
    func poke() { pokeContinuation.yield() }

    func run() async throws {
        do {
            try await cancelWhenGracefulShutdown { try await self.relay() }
        } catch is CancellationError {
            // The way it ends.
        }
        await drain()
    }

    private func relay() async throws {
        await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask {
                while true {
                    try await Task.sleep(for: self.pollInterval)
                    self.poke()
                }
            }
            var lastCleaning = clock.now()
            for await _ in pokes {
                await turn()
                if clock.now() - lastCleaning > 3_600_000 {
                    lastCleaning = clock.now()
                    await clean()
                }
            }
            group.cancelAll()
        }
        try Task.checkCancellation()
    }

    private func turn() async {
        do {
            // Taking the lease is a write: not for nothing, each second.
            var oldest = try await store.tables.oldestWaitingEvent()
            if oldest != nil {
                while try await relayBatch() == Self.batch {}
                oldest = try await store.tables.oldestWaitingEvent()
            }
            metrics.outboxAge.set(oldest.map { Double(clock.now() - $0) / 1000 } ?? 0)
        } catch is CancellationError {
            return
        } catch {
            logger.warning("events can't be relayed", metadata: ["error": "\(error)"])
        }
    }

    /// - Returns: how many events left.
    private func relayBatch() async throws -> Int {
        guard try await !leases.acquire(for: Self.lease).isEmpty else { return 0 }
        let waiting = try await store.tables.waitingEvents(limit: Self.batch)
        guard !waiting.isEmpty else { return 0 }
        let outcome = try await producer.send(waiting.map(\.event))
        // An event after one that failed must not be marked: it would overtake it for the same user.
        let sent = outcome.failures.map(\.index).min() ?? waiting.count
        try await store.tables.markPublished(waiting.prefix(sent).map(\.number), now: clock.now())
        metrics.relayed.increment(by: sent)
        try outcome.requireAll()
        return sent
    }

    /// Sends the last events of a process that ends; another process sends the rest, or this one after its next start.
    private func drain() async {
        do {
            _ = try await relayBatch()
            try await leases.release()
        } catch {
            logger.info("the outbox stays for the next start", metadata: ["error": "\(error)"])
        }
    }

    private func clean() async {
        do {
            try await store.tables.deletePublished(before: clock.now() - Self.retention)
            try await store.tables.deleteExpired(now: clock.now())
        } catch {
            logger.warning("old rows can't be deleted", metadata: ["error": "\(error)"])
        }
    }
}

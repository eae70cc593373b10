import DocumentModel
import DocumentStore
import EventStream
import EventTopics

/// `partita.auth_outbox`: the events for the topic `auth-events`.
///
/// Only the process that has the lease publishes, so that a user's events keep their order. A process that loses the lease while it
/// publishes may send an event a second time, which its readers recognise by its id.
struct AuthOutbox: OutboxTable {
    let store: AccountStore
    let leases: WorkLeases
    let clock: WallClock
    let metrics: AuthMetrics

    private static let lease = Duration.seconds(10)

    func waiting(limit: Int) async throws -> [AccountTables.WaitingEvent] {
        // Taking the lease is a write, so it is taken only when there is something to publish.
        let oldest = try await store.tables.oldestWaitingEvent()
        metrics.outboxAge.set(oldest.map { Double(clock.now() - $0) / 1000 } ?? 0)
        guard oldest != nil, try await !leases.acquire(for: Self.lease).isEmpty else { return [] }
        return try await store.tables.waitingEvents(limit: limit)
    }

    static func event(_ entry: AccountTables.WaitingEvent) -> AuthEvent { entry.event }

    func published(_ entries: [AccountTables.WaitingEvent]) async throws {
        try await store.tables.markPublished(entries.map(\.number), now: clock.now())
        metrics.relayed.increment(by: entries.count)
    }

    func stopped() async throws { try await leases.release() }
}

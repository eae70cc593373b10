import DocumentStore
import EventStream
import EventTopics

/// `partita.auth_audit` as the outbox of the topic `audit`. Only the process that has the lease publishes, so that the log keeps its order.
struct AuditOutbox: OutboxTable {
    let store: AccountStore
    let leases: WorkLeases

    private static let lease = Duration.seconds(10)

    func waiting(limit: Int) async throws -> [AccountTables.AuditRow] {
        // Taking the lease is a write, so it is taken only when there is something to publish.
        guard try await !store.tables.waitingAudit(limit: 1).isEmpty,
            try await !leases.acquire(for: Self.lease).isEmpty
        else { return [] }
        return try await store.tables.waitingAudit(limit: limit)
    }

    static func event(_ entry: AccountTables.AuditRow) -> AuditEvent { entry.event }

    func published(_ entries: [AccountTables.AuditRow]) async throws {
        try await store.tables.markAuditPublished(entries.map(\.number))
    }

    func stopped() async throws { try await leases.release() }
}

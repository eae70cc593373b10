import DocumentStore
import EventStream
import EventTopics

/// `partita.auth_push_registrations` as the outbox of the topic `push-registrations`. Only the process that has the lease publishes.
struct PushOutbox: OutboxTable {
    let store: AccountStore
    let leases: WorkLeases

    private static let lease = Duration.seconds(10)

    func waiting(limit: Int) async throws -> [PushRegistrationEvent] {
        // Taking the lease is a write, so it is taken only when there is something to publish.
        guard try await !store.tables.waitingPushRegistrations(limit: 1).isEmpty,
            try await !leases.acquire(for: Self.lease).isEmpty
        else { return [] }
        return try await store.tables.waitingPushRegistrations(limit: limit)
    }

    static func event(_ entry: PushRegistrationEvent) -> PushRegistrationEvent { entry }

    func published(_ entries: [PushRegistrationEvent]) async throws {
        try await store.transaction { try await $0.markPublished(entries) }
    }

    func stopped() async throws { try await leases.release() }
}

import DocumentStore
import EventStream
import EventTopics

/// `partita.auth_push_registrations` as the outbox of the topic `push-registrations`. Only the process that has the lease publishes.
/// The keys of users who were deleted are removed from the topic, behind the end of their registrations.
struct PushOutbox: OutboxTable {
    let store: AccountStore
    let producer: EventProducer
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
        // Before the rows go: who fails here does both again.
        for entry in try await store.tables.ofDeletedUsers(entries.filter { $0.token == nil }) {
            try await producer.remove(key: entry.key, from: PushRegistrationEvent.topic)
        }
        try await store.transaction { try await $0.markPublished(entries) }
    }

    func stopped() async throws { try await leases.release() }
}

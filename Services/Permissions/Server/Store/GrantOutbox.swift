import EventLoop
import EventStream
import EventTopics
import Postgres

/// `partita.grant_outbox`: the grants that the topic `permission-grants` may not have in their newest version.
struct GrantOutbox: OutboxTable {
    let client: PostgresClient
    /// Set when the topic has a revocation.
    let fenceAlarm: Alarm

    func waiting(limit: Int) async throws -> [Grant] { try await GrantTable(client: client).unpublished(limit: limit) }

    static func event(_ grant: Grant) -> GrantsEvent { .grant(grant) }

    func published(_ grants: [Grant]) async throws {
        try await FenceTable(client: client).published(grants)
        if grants.contains(where: \.isFence) { fenceAlarm.set() }
        try await GrantTable(client: client).published(grants)
    }
}

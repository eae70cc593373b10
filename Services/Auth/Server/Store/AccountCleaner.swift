import DocumentModel
import Lifecycle
import Logging

/// Deletes rows of accounts that have expired, and events that were published long ago.
struct AccountCleaner: Service {
    let store: AccountStore
    let clock: WallClock
    /// How long records of the audit log are kept.
    let auditRetention: Duration
    let logger: Logger

    private static let interval = Duration.seconds(3600)
    /// How long published events are kept, in milliseconds, for operators who look into the database.
    private static let retention: Int64 = 3 * 86_400_000

    func run() async throws {
        try? await cancelWhenGracefulShutdown {  // ends by cancellation only
            while true {
                // At the start and then at intervals: a service may be restarted more often than it cleans.
                do { try await clean() } catch {
                    logger.warning("old rows can't be deleted", metadata: ["error": "\(error)"])
                }
                try await Task.sleep(for: Self.interval)
            }
        }
    }

    func clean() async throws {
        let now = clock.now()
        try await store.tables.deletePublished(before: now - Self.retention)
        try await store.tables.deleteExpired(now: now)
        try await store.tables.deleteAudit(before: now - auditRetention.components.seconds * 1000)
    }
}

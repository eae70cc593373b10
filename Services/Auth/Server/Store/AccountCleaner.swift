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

    private var steps: [RepeatedSteps.Step] {
        let tables = store.tables, clock = clock, audit = auditRetention.components.seconds * 1000
        return [
            ("account-events", { try await tables.deletePublished(before: clock.now() - Self.retention) }),
            ("email-tokens", { try await tables.deleteExpiredEmailTokens(now: clock.now()) }),
            ("redirects", { try await tables.deleteExpiredRedirects(now: clock.now()) }),
            ("sessions", { try await tables.deleteExpiredSessions(now: clock.now()) }),
            ("ended-sessions", { try await tables.deleteExpiredEnds() }),
            ("audit-records", { try await tables.deleteAudit(before: clock.now() - audit) }),
        ]
    }

    /// At the start and then at intervals: a service may be restarted more often than it cleans.
    func run() async throws { await RepeatedSteps(steps, every: Self.interval, logger: logger).run() }

    func clean() async throws {
        for step in steps { try await step.perform() }
    }
}

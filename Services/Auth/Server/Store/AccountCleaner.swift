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

    private var steps: [(work: String, step: @Sendable () async throws -> Void)] {
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

    func run() async throws {
        let reports = steps.map { FailureReport($0.work, logger: logger) }
        try? await cancelWhenGracefulShutdown {  // ends by cancellation only
            while true {
                // At the start and then at intervals: a service may be restarted more often than it cleans.
                for ((work, step), report) in zip(steps, reports) {
                    // One that fails doesn't keep the others from their work.
                    do {
                        try await step()
                        report.succeeded("old rows are deleted again: \(work)")
                    } catch {
                        report.failed("old rows can't be deleted now: \(work)", error)
                    }
                }
                try await Task.sleep(for: Self.interval)
            }
        }
    }

    func clean() async throws {
        for (_, step) in steps { try await step() }
    }
}

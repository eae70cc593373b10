import ChangeStream
import DocumentModel
import EventLoop
import EventStream
import Lifecycle
import Logging
import Postgres

/// Which committed changes permissions has handled, in whichever of its processes.
struct HandledChanges: Sendable {
    let client: PostgresClient
    /// The name of the consumer of changes.
    let consumer: String
    let logger: Logger

    private static let page = 1000
    private static let interval = Duration.milliseconds(100)
    /// After this time it is reported that changes aren't handled, and not waited for them any longer: one change that can't be handled
    /// must not suspend all partitions for good.
    private static let patience = Duration.seconds(60)

    /// Returns when all changes are handled that had been committed when it was called.
    /// - Returns: whether they are; `false` when it was too long.
    /// - Throws: `CancellationError`.
    func waitForPresent() async throws -> Bool {
        let start = ContinuousClock.now
        var backoff = RetryBackoff(.reconnecting)
        var behind: [PartitionKey: Int64]?
        let report = FailureReport("handled-changes", logger: logger)
        while true {
            do {
                let left = if let behind { try await unhandled(behind) } else { try await unhandled() }
                if left.isEmpty { return true }
                behind = left
                report.succeeded("handled changes can be read again")
            } catch let error as PostgresError {
                // Nothing can be granted or revoked meanwhile either.
                report.failed("handled changes can't be read", error)
                try await Task.sleep(for: backoff.next())
                continue
            }
            if ContinuousClock.now - start > Self.patience {
                logger.error(
                    "changes that may revoke grants are not handled yet; partitions are served all the same",
                    metadata: ["partitions": "\(behind?.count ?? 0)"])
                return false
            }
            // Other processes may handle them, so there is no event to wait for.
            try await Task.sleep(for: Self.interval)
        }
    }

    /// The partitions with changes that aren't handled, each with its head.
    private func unhandled() async throws -> [PartitionKey: Int64] {
        let history = ChangeHistory(client: client)
        var left: [PartitionKey: Int64] = [:]
        var last: PartitionKey?
        while true {
            let heads = try await history.heads(unhandledBy: consumer, of: .all, after: last, limit: Self.page)
            for head in heads {
                let key = PartitionKey(app: head.app, partition: head.partition)
                left[key] = head.head.number
                last = key
            }
            guard heads.count == Self.page else { return left }
        }
    }

    /// Those of the partitions whose changes aren't handled up to the number.
    private func unhandled(_ heads: [PartitionKey: Int64]) async throws -> [PartitionKey: Int64] {
        let progress = try await HandledEvents(consumer: consumer).progress(Array(heads.keys), on: client)
        return heads.filter { progress[$0.key]?.watermark ?? 0 < $0.value }
    }
}

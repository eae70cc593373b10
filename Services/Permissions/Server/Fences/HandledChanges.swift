import DocumentModel
import EventLoop
import EventStream
import Logging
import Postgres

/// Which committed changes permissions has handled, as the tables of the document store and of its consumer have it.
struct HandledChanges: Sendable {
    let client: PostgresClient
    /// The name of the consumer of changes.
    let consumer: String
    let logger: Logger

    private static let interval = Duration.milliseconds(100)
    /// After this time it is reported that changes aren't handled, and not waited for them any longer: one change that can't be handled
    /// must not suspend all partitions for good.
    private static let patience = Duration.seconds(60)

    /// Returns when all changes are handled that had been committed when it was called.
    /// - Throws: `CancellationError`.
    func waitForPresent() async throws {
        let start = ContinuousClock.now
        var backoff = RetryBackoff(.reconnecting)
        var behind: [PartitionKey: Int64]?
        while true {
            do {
                let left = try await unhandled(behind)
                if left.isEmpty { return }
                behind = behind ?? left
                if let known = behind { behind = known.filter { left[$0.key] != nil } }
            } catch let error as PostgresError {
                // Nothing can be granted or revoked meanwhile either.
                logger.debug("handled changes can't be read", metadata: ["error": "\(error)"])
                try await Task.sleep(for: backoff.next())
                continue
            }
            if ContinuousClock.now - start > Self.patience {
                return logger.error(
                    "changes that may revoke grants are not handled yet; partitions are served all the same",
                    metadata: ["partitions": "\(behind?.count ?? 0)"])
            }
            try await Task.sleep(for: Self.interval)
        }
    }

    /// - Parameter known: the partitions and heads to look at; `nil` for all as they are now.
    private func unhandled(_ known: [PartitionKey: Int64]?) async throws -> [PartitionKey: Int64] {
        let rows: PostgresRows
        if let known {
            rows = try await client.query(
                """
                select p.app, p.partition, p.head from unnest($2::text[], $3::text[], $4::bigint[]) p(app, partition, head)
                left join partita.handled_events h
                    on h.consumer = $1 and h.app = p.app and h.partition = p.partition
                where p.head > coalesce(h.watermark, 0)
                """,
                [
                    .text(consumer), .textArray(known.map(\.key.app)), .textArray(known.map(\.key.partition.text)),
                    .int8Array(known.map(\.value)),
                ])
        } else {
            rows = try await client.query(
                """
                select p.app, p.partition, p.head from partita.partitions p
                left join partita.handled_events h
                    on h.consumer = $1 and h.app = p.app and h.partition = p.partition
                where p.head > coalesce(h.watermark, 0)
                """, [.text(consumer)])
        }
        var result: [PartitionKey: Int64] = [:]
        for (app, partition, head) in try rows.decode((String, String, Int64).self) {
            result[PartitionKey(app: app, partition: Partition(text: partition))] = head
        }
        return result
    }
}

import DocumentModel
import DocumentStore
import Lifecycle
import Logging
import SyncEngine

/// Compares what the feed has delivered with what Postgres has, for the partitions that devices have open: a change that the topic has
/// lost, together with the head after it, reaches them without another write.
struct HeadWatch: Service {
    let store: DocumentStore
    let feed: ChangeFeed
    let logger: Logger

    /// A lost change is found after one to two of these times.
    private static let interval = Duration.seconds(5)
    /// The number of partitions that are looked up by one statement.
    private static let batch = 1000

    func run() async throws {
        try? await cancelWhenGracefulShutdown { await self.watch() }  // ends by cancellation only
    }

    private func watch() async {
        var missed = MissedHeads()
        let report = FailureReport("head-watch", logger: logger)
        while !Task.isCancelled {
            try? await Task.sleep(for: Self.interval)  // cancelled: the loop's condition ends it
            do {
                try await look(&missed)
                report.succeeded("the heads of partitions can be read again")
            } catch {
                // The next look finds it.
                report.failed("the heads of partitions can't be read", error)
            }
        }
    }

    private func look(_ missed: inout MissedHeads) async throws {
        let open = Array(feed.delivered.keys)
        var heads: [PartitionKey: Revision] = [:]
        for start in stride(from: 0, to: open.count, by: Self.batch) {
            let batch = Array(open[start..<min(start + Self.batch, open.count)])
            heads.merge(try await store.heads(of: batch)) { $1 }
        }
        // Read after the heads: what came meanwhile isn't missed.
        let delivered = feed.delivered
        for (partition, head) in missed.look(delivered: delivered, heads: heads) {
            // Of one that was opened just now the feed knows nothing yet; its subscriptions have read it.
            if delivered[partition] != EpochHistory.beginning { GatewayMetrics.missedHeads.increment() }
            feed.announce(head, of: partition)
        }
    }
}

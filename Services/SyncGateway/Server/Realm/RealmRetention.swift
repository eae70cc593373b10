import DocumentModel
import Lifecycle
import Logging

/// Removes what the histories of Realm clients no longer need, so that they don't grow for ever: every hour, or more often if clients may
/// be away for a short time only. Several gateways may do this at once.
struct RealmRetention: Service {
    let hub: RealmHub
    let tables: RealmTables
    /// How long a client may be away, if its app doesn't say that; then it begins anew.
    let offline: Duration
    let logger: Logger

    /// Each sweep sees the clients that are connected: several times while one may be away.
    private var interval: Duration { min(.seconds(3600), offline / 3) }
    /// The number of partitions, or of clients, that are looked at by one statement.
    private static let batch = 200
    /// A history with fewer entries than this after its snapshot gets no new one until a new client comes.
    private static let growth: Int64 = 1000

    func run() async throws {
        // Ends by cancellation only.
        try? await cancelWhenGracefulShutdown {
            while !Task.isCancelled {
                do {
                    try await sweep()
                } catch {
                    logger.warning("histories of Realm clients weren't trimmed", metadata: ["error": "\(error)"])
                }
                try await Task.sleep(for: interval)
            }
        }
    }

    /// Sees the clients that are connected, forgets those that were away for too long, and trims the histories.
    func sweep() async throws {
        let connected = hub.files
        for start in stride(from: 0, to: connected.count, by: Self.batch) {
            try await tables.see(Array(connected[start..<min(start + Self.batch, connected.count)]))
        }
        try await tables.forgetFiles(unseenFor: offline, of: try await hub.offlineLimits())
        var last: PartitionKey?
        while !Task.isCancelled {
            let page = try await tables.trimmings(after: last, limit: Self.batch)
            for trimming in page {
                do {
                    try await trim(trimming)
                } catch let error as CancellationError {
                    throw error
                } catch {
                    // The others are trimmed all the same.
                    GatewayMetrics.untrimmed.increment()
                    logger.warning(
                        "the history of a partition wasn't trimmed",
                        metadata: [
                            "app": "\(trimming.key.app)", "partition.id": "\(trimming.key.partition)",
                            "error": "\(error)",
                        ])
                }
            }
            guard page.count == Self.batch else { return }
            last = page.last?.key
        }
    }

    private func trim(_ trimming: RealmTables.Trimming) async throws {
        let isLarge = trimming.growth > Self.growth
        if isLarge { try await hub.history(of: trimming.key).makeSnapshotIfWorthwhile() }
        if isLarge || trimming.isDue { try await tables.trim(trimming.key) }
    }
}

import DocumentModel
import EventLoop
import Postgres

/// Notifies relays in other processes of this process' commits, with NOTIFY. Their sweep finds the commits whose notification was
/// lost.
///
/// NOTIFY inside a commit would make all commits of the server wait for each other. So it is a separate statement after the commit,
/// for all partitions that were committed since the last one.
public final class CommitNotifier: Sendable {
    /// The Postgres channel on which commits are announced, one partition per notification (`PartitionKey.init(notification:)`).
    public static let channel = "partita_changes"
    private let client: PostgresClient
    private let waiting = Locked<Set<PartitionKey>>([])
    private let wakes: AsyncStream<Void>
    private let wake: AsyncStream<Void>.Continuation

    init(client: PostgresClient) {
        self.client = client
        (wakes, wake) = AsyncStream.makeStream(bufferingPolicy: .bufferingNewest(1))
    }

    func announce(_ partitions: some Sequence<PartitionKey>) {
        // Without a bound they would accumulate if `run()` isn't running. Relays find the partitions beyond it by sweeping.
        waiting.withLock { if $0.count < 10_000 { $0.formUnion(partitions) } }
        wake.yield()
    }

    func run() async {
        for await _ in wakes {
            let partitions = waiting.withLock { waiting in
                defer { waiting = [] }
                return waiting
            }
            // Postgres refuses payloads of 8,000 bytes or more.
            let payloads = partitions.map(\.notification).filter { $0.utf8.count < 7_000 }
            if payloads.isEmpty { continue }
            // If this fails, the relays' sweep finds the partitions.
            _ = try? await client.query(
                "select pg_notify('\(Self.channel)', p) from unnest($1::text[]) p", [.textArray(payloads)])
        }
    }
}

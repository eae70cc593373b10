import DocumentModel
import EventLoop
import Postgres

/// Tells relays in other processes about commits of this one, with NOTIFY. What is lost on the way is found by their sweep.
///
/// NOTIFY inside a commit would make all commits of the server wait for each other; so it is a statement of its own afterwards, for
/// all partitions that were committed meanwhile.
public final class CommitNotifier: Sendable {
    /// The channel of Postgres on which commits are announced, a partition each (`PartitionKey.init(notification:)`).
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
        // Without a reader they would gather for ever; relays find more than this by sweeping anyway.
        waiting.withLock { if $0.count < 10_000 { $0.formUnion(partitions) } }
        wake.yield()
    }

    func run() async {
        for await _ in wakes {
            let partitions = waiting.withLock { waiting in
                defer { waiting = [] }
                return waiting
            }
            // Postgres takes no payload of 8,000 bytes.
            let payloads = partitions.map(\.notification).filter { $0.utf8.count < 7_000 }
            if payloads.isEmpty { continue }
            // Failed: the sweep finds them.
            _ = try? await client.query(
                "select pg_notify('\(Self.channel)', p) from unnest($1::text[]) p", [.textArray(payloads)])
        }
    }
}

import DocumentStore
import EventLoop
import Postgres

/// Lets one worker at a time handle the events of ordered triggers, whose documents may be in partitions of several workers.
///
/// A worker that has all Kafka partitions has all events, and needs no turn. While workers join or leave, the batch that one has
/// begun may still run when another one begins.
final class OrderedTurns: Sendable {
    private static let lease = Duration.seconds(6)

    private let client: PostgresClient
    private let alone = Locked(false)

    init(client: PostgresClient) { self.client = client }

    /// Whether this worker has all Kafka partitions.
    var isAlone: Bool {
        get { alone.withLock { $0 } }
        set { alone.withLock { $0 = newValue } }
    }

    /// Handles a batch of a lane in this worker's turn, and waits for it.
    func take(_ lane: String, _ body: @escaping @Sendable () async throws -> Void) async throws {
        if isAlone { return try await body() }
        let leases = WorkLeases("triggers \(lane)", client: client)
        while try await !leases.hold(for: Self.lease, body) {
            // Nothing tells when the holder releases the lease; its batch mostly takes milliseconds.
            try await Task.sleep(for: .milliseconds(Int.random(in: 5...25)))
        }
    }
}

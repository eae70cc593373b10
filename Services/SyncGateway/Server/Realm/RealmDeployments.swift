import Lifecycle

/// Brings the histories that clients have open up to a new version of their app: the clients get its classes, and the objects of collections
/// that sync now, without waiting for another change. One history after the other, since a gateway may have many.
final class RealmDeployments: Service {
    private let hub: RealmHub
    private let deployed: AsyncStream<String>
    private let input: AsyncStream<String>.Continuation

    init(hub: RealmHub) {
        self.hub = hub
        (deployed, input) = AsyncStream.makeStream()
    }

    /// Called when an app has a version that this process didn't know.
    func follow(_ app: String) { input.yield(app) }

    /// Works until graceful shutdown or cancellation.
    func run() async throws {
        try? await cancelWhenGracefulShutdown {  // ends by cancellation only
            for await app in self.deployed { await self.hub.update(app) }
        }
    }
}

import DocumentStore
import EventLoop
import HTTPServer
import Lifecycle
import ServiceBootstrap
import SyncProtocol
import WebSocket

/// Admits devices once the feeds that they depend on are positioned, and closes their connections when the gateway stops.
final class SessionHall: Sendable {
    let context: GatewayContext
    private let shards: [ObjectIdentifier: FeedShard]
    let configuration: WebSocketConfiguration
    private let state = Locked(State())

    /// The component's name in the service's readiness.
    static let name = "feeds"

    private struct State {
        var isOpen = false
        var sessions: [ObjectIdentifier: any GatewaySession] = [:]
    }

    /// - Parameter presenceTTL: the time within which a device without a network must be detected; it is pinged at a third of it.
    ///   The connection itself stays open for as long as a device may be silent, since networks stall for seconds.
    init(context: GatewayContext, feed: ChangeFeed, loops: [EventLoop], presenceTTL: Duration) {
        self.context = context
        shards = Dictionary(uniqueKeysWithValues: loops.map { (ObjectIdentifier($0), FeedShard(loop: $0, feed: feed)) })
        var configuration = WebSocketConfiguration()
        configuration.maxMessageBytes = DeviceSession.helloBytes
        // The window, and the documents of all reads that were in flight when it was exceeded.
        configuration.maxQueuedBytes =
            context.downloads.window + ChunkReads.limit * (DocumentStore.maximumDocumentBytes + (2 << 20))
        // A proxy ends connections on which it sees nothing for a while.
        configuration.pingInterval = min(presenceTTL / 3, .seconds(30))
        configuration.quietTimeout = presenceTTL / 3
        configuration.pongTimeout = max(context.limits.idleTimeout, presenceTTL)
        self.configuration = configuration
    }

    /// Handles an upgrade request.
    /// - Throws: `HTTPError`: 503 while the gateway starts or stops, 400 without the subprotocol.
    func admit(_ request: HTTPRequest) throws -> HTTPResponse {
        let app = try request.parameters.require("app")
        try requireOpen()
        guard request.webSocketSubprotocols.contains(SyncProtocolVersion.name) else {
            throw HTTPError(
                400, code: "BadRequest", "this endpoint speaks the WebSocket subprotocol \(SyncProtocolVersion.name)")
        }
        let shard = try shard(of: request)
        return .webSocket(subprotocol: SyncProtocolVersion.name, configuration: configuration) { [self] socket in
            let session = DeviceSession(socket, app: app, shard: shard, context: context) { [weak self] session in
                self?.leave(session)
            }
            enter(session) { session.start() }
        }
    }

    func requireOpen() throws(HTTPError) {
        guard state.withLock({ $0.isOpen }) else {
            throw HTTPError(503, code: "Unavailable", "the gateway isn't ready; try again")
        }
    }

    func shard(of request: HTTPRequest) throws(HTTPError) -> FeedShard {
        guard let shard = shards[ObjectIdentifier(request.loop)] else {
            throw HTTPError(500, code: "InternalServerError", "the connection is on no loop of the gateway")
        }
        return shard
    }

    func enter(_ session: any GatewaySession, start: () -> Void) {
        let isOpen = state.withLock { state in
            state.sessions[ObjectIdentifier(session)] = session
            return state.isOpen
        }
        start()
        if !isOpen { session.shutDown() }  // the shutdown began after the check before the upgrade
    }

    func leave(_ session: any GatewaySession) { state.withLock { $0.sessions[ObjectIdentifier(session)] = nil } }

    /// The gateway's lease has expired, or is valid again.
    func leaseChanged() { forEach { $0.leaseChanged() } }

    /// The devices' state, and this process's state of their partitions, belongs to the former epoch: the devices connect again, and start
    /// from their checkpoints.
    func epochChanged() { forEach { $0.shutDown() } }

    /// Called when a user was blocked or a session has ended: each session checks its own token again.
    func shutOutChanged() { forEach { $0.shutOutChanged() } }

    /// Clients of a removed app are told so, and refused when they connect again.
    func appRemoved(_ app: String) { forEach { $0.appRemoved(app) } }

    /// Calls `body` for each session, on its loop.
    private func forEach(_ body: @escaping @Sendable (any GatewaySession) -> Void) {
        let sessions = state.withLock { Array($0.sessions.values) }
        for (_, sessions) in Dictionary(grouping: sessions, by: { ObjectIdentifier($0.shard.loop) }) {
            // One task per loop, not per session: sessions end all the time, and each end checks all connections.
            sessions.first?.shard.loop.execute { for session in sessions { body(session) } }
        }
    }

    /// A service that admits devices when the feeds' positions are known: later commits then reach the devices.
    func opened(after feeds: [any PositionedFeed], readiness: Readiness) -> any Service {
        Opening(hall: self, feeds: feeds, readiness: readiness)
    }

    private struct Opening: Service {
        let hall: SessionHall
        let feeds: [any PositionedFeed]
        let readiness: Readiness

        func run() async throws {
            do {
                try await cancelWhenGracefulShutdown { for feed in feeds { try await feed.waitUntilPositioned() } }
            } catch is CancellationError {
                return
            }
            hall.state.withLock { $0.isOpen = true }
            readiness.set(SessionHall.name, .ready)
            try? await gracefulShutdown()  // a cancellation ends it as well
            let sessions = hall.state.withLock { state in
                state.isOpen = false
                return Array(state.sessions.values)
            }
            for session in sessions { session.shard.loop.execute { session.shutDown() } }
        }
    }
}

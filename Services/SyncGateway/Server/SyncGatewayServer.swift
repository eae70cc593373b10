import DocumentStore
import EventLoop
import EventStream
import EventTopics
import HTTPServer
public import Lifecycle
import Presence
public import ServiceBootstrap
import ServiceEngines
import SyncEngine
import SyncProtocol
import WebSocket

/// The sync gateway.
public enum SyncGatewayServer {
    static let window = ConfigurationKey<Int>.bytes(
        "device.window", default: 1 << 20, range: (64 << 10)...(64 << 20),
        "What may wait in a device's socket; beyond it the device catches up later.")
    static let subscriptions = ConfigurationKey<Int>.int(
        "device.subscriptions", default: 100, range: 1...10_000, "Partitions that a device may have open.")
    static let presenceTTL = ConfigurationKey<Duration>.duration(
        "presence.ttl", default: .seconds(30), range: .milliseconds(500)...(.seconds(3600)),
        "How long after the last sign of life a device counts as online.")

    /// The service's main program.
    public static let main = ServiceMain(
        name: "sync-gateway", summary: "Holds the devices' connections: uploads, downloads, presence.",
        defaultPort: 8082,
        keys: EngineSettings.keysWithRedis + [window.description, subscriptions.description, presenceTTL.description])

    /// Makes the service.
    public static func make(_ context: inout ServiceContext) throws -> [any Service] {
        let engines = try ServiceEngines(context, usesRedis: true)
        let logger = context.logger
        guard let redis = engines.redis else { return [] }
        let ttl = context.configuration[presenceTTL]
        let presence = PresenceKeeper(
            leases: PresenceLeases(redis: redis, ttl: ttl, prefix: "\(engines.pool):"), producer: engines.events,
            interval: ttl / 3, logger: logger)
        let grants = GrantBook(
            client: engines.postgres, producer: engines.events, instance: engines.instance, logger: logger)
        let committer = GroupCommitter(store: engines.store, on: context.loops.next())
        let feed = ChangeFeed(logger: logger)
        let gateway = GatewayContext(
            store: engines.store, committer: committer, apps: engines.apps, verifier: engines.verifier, grants: grants,
            presence: presence, producer: engines.events,
            limits: ConnectionLimits(subscriptions: context.configuration[subscriptions]),
            window: context.configuration[window], instance: engines.instance, logger: logger)
        let relay = OutboxRelay(
            store: engines.store, producer: engines.events, on: context.loops.next(), logger: logger)
        let readiness = context.readiness
        readiness.set(SessionHall.name, .notReady("not positioned yet"))
        let sessions = SessionHall(context: gateway, feed: feed, loops: context.loops.loops, presenceTTL: ttl)
        context.http.drainCloseCode = .serviceRestart  // devices connect again at once
        context.router.webSocket("/v1/apps/:app/sync") { try sessions.admit($0) }
        let changes = EventTail<DocumentChangesEvent>(
            pool: engines.pool, kafka: engines.kafka, on: context.loops.next(), logger: logger
        ) {
            feed.handle($0)
        }
        let grantChanges = EventTail<GrantsEvent>(pool: engines.pool, kafka: engines.kafka, logger: logger) {
            grants.handle($0)
        }
        let presenceChanges = EventTail<PresenceEvent>(pool: engines.pool, kafka: engines.kafka, logger: logger) {
            presence.handle($0)
        }
        return [
            engines.service {
                [
                    committer, relay, changes,
                    grantChanges, presenceChanges, presence,
                    sessions.opened(after: [changes, grantChanges], readiness: readiness),
                ]
            }
        ]
    }
}

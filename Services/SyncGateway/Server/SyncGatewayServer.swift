import ChangeStream
import DocumentStore
import EventLoop
import EventStream
import EventTopics
import Functions
import Grants
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
        "Bytes that may wait in a device's socket; beyond them the device catches up later.")
    static let subscriptions = ConfigurationKey<Int>.int(
        "device.subscriptions", default: 100, range: 1...10_000, "Partitions that a device may have open.")
    static let deviceQuestions = questions("device", QuestionBudget.Limits.standard.device, "a device")
    static let userQuestions = questions("user", QuestionBudget.Limits.standard.user, "a user's devices together")
    static let appQuestions = ConfigurationKey<Int>.int(
        "questions.app", default: QuestionBudget.Limits.standard.app, range: 1...100_000,
        "Partitions without a grant that all devices of an app may request from permissions at a time through one gateway; 50 times as many wait for their turn."
    )

    private static func questions(_ name: String, _ limit: Int, _ who: String) -> ConfigurationKey<Int> {
        .int(
            "questions.\(name)", default: limit, range: 1...1_000_000,
            "Partitions without a grant that \(who) may request from permissions at once through one gateway, and as many again per minute."
        )
    }

    static let connections = ConfigurationKey<Int>.int(
        "device.connections", default: 50, range: 1...10_000, "Connections that a user may have with one gateway.")

    static let realmOffline = ConfigurationKey<Duration>.duration(
        "realm.offline", default: .seconds(30 * 86_400), range: .seconds(1)...(.seconds(3650 * 86_400)),
        "How long a client with a Realm SDK may be away; then it gets a client reset.")

    /// The service's main program.
    public static let main = ServiceMain(
        name: "sync-gateway", summary: "Holds the devices' connections: uploads, downloads, presence.",
        defaultPort: 8082,
        keys: EngineSettings.keysWithRedis + EngineSettings.secretKeys + EngineSettings.functionKeys + [
            window.description, subscriptions.description, connections.description, deviceQuestions.description,
            userQuestions.description, appQuestions.description, EngineSettings.presenceTTL.description,
            EngineSettings.ruleHosts.description, realmOffline.description,
        ])

    /// Creates the service.
    public static func make(_ context: inout ServiceContext) throws -> [any Service] {
        let engines = try ServiceEngines(context, usesRedis: true, usesSecrets: true)
        let logger = context.logger
        let ttl = context.configuration[EngineSettings.presenceTTL]
        let presence = PresenceKeeper(
            leases: PresenceLeases(redis: engines.redis, ttl: ttl, prefix: "\(engines.pool):"),
            rights: WatchRights(client: engines.postgres, apps: engines.apps), producer: engines.events,
            interval: ttl / 3, clock: engines.clock, logger: logger)
        let lease = GrantLease(clock: engines.clock)
        let grants = GrantBook(
            client: engines.postgres, producer: engines.events, instance: engines.instance, lease: lease,
            budget: QuestionBudget(
                .init(
                    device: context.configuration[deviceQuestions], user: context.configuration[userQuestions],
                    app: context.configuration[appQuestions])),
            logger: logger)
        let committer = GroupCommitter(store: engines.store, on: context.loops.next())
        let feed = ChangeFeed(on: context.loops.next(), logger: logger) { [store = engines.store] app, namespace in
            // An app that isn't known here has no connected devices.
            (try? store.storage(of: app).syncs(namespace)) ?? false
        }
        _ = engines.store.observeUploads { feed.committed($0, $1) }
        let heads = HeadWatch(store: engines.store, feed: feed, logger: logger)
        let schemas = SchemaRequests(producer: engines.events, clock: engines.clock, logger: logger)
        let gateway = GatewayContext(
            apps: engines.apps, access: engines.access,
            connections: UserConnections(limit: context.configuration[connections]), lease: lease, presence: presence,
            limits: ConnectionLimits(subscriptions: context.configuration[subscriptions]),
            uploads: UploadPath(committer: committer, logger: logger),
            downloads: DownloadPath(
                store: engines.store, connections: engines.connections, grants: grants, lease: lease,
                epoch: engines.epoch,
                window: context.configuration[window], clock: engines.clock, logger: logger),
            schemas: schemas, clock: engines.clock, loops: context.loops.loops.count, logger: logger)
        let relay = OutboxRelay(
            store: engines.store, producer: engines.events, on: context.loops.next(), logger: logger)
        let readiness = context.readiness
        readiness.set(SessionHall.name, .notReady("not positioned yet"))
        let sessions = SessionHall(context: gateway, feed: feed, loops: context.loops.loops, presenceTTL: ttl)
        engines.epoch.onChange { [weak sessions] _ in sessions?.epochChanged() }
        engines.access.shutOut.onShutOut { [weak sessions] in sessions?.shutOutChanged() }
        context.http.cors = CORSPolicy(apps: engines.apps, hosting: engines.hosting)  // for the data API
        context.http.drainCloseCode = .serviceRestart  // devices connect again at once
        context.router.webSocket("/v1/apps/:app/sync") { try sessions.admit($0) }
        let realm = RealmHub(
            store: engines.store, apps: engines.apps, on: context.loops.next(), logger: logger)
        context.router.webSocket("/api/client/v2.0/app/:app/realm-sync") {
            try sessions.admitRealm($0, hub: realm)
        }
        let realmDeployments = RealmDeployments(hub: realm)
        engines.apps.onChange { [weak sessions] change in
            switch change {
            case .deployed(let app): realmDeployments.follow(app.id)
            case .secretsChanged: break
            case .removed(let app): sessions?.appRemoved(app)
            }
        }
        let realmRetention = RealmRetention(
            hub: realm, tables: RealmTables(client: engines.postgres),
            offline: context.configuration[realmOffline], logger: logger)
        let ruleHosts = FunctionHostPool(
            configuration: try .init(hosts: context.configuration[EngineSettings.ruleHosts], context.configuration),
            loop: context.loops.next(),
            logger: logger)
        let functionLogs = FunctionLogs(client: engines.postgres, logger: logger)
        let documents = DataAPIRoute(
            apps: engines.apps, access: engines.access, store: engines.store,
            turns: DocumentTurns(connections: engines.connections),
            rules: RuleFunctions(hosts: ruleHosts, store: engines.store, logs: functionLogs),
            shutOut: ShutOutTable(engines.postgres))
        context.router.post(DataAPIRoute.template, bodyLimit: DataAPIRoute.bodyLimit) {
            try await documents.handle($0)
        }
        let changes = EventTail<DocumentChangesEvent>(
            pool: engines.pool, kafka: engines.reading, on: feed.loop, logger: logger
        ) {
            feed.handle($0)
        }
        let grantChanges = EventTail<GrantsEvent>(
            pool: engines.pool, kafka: engines.reading, logger: logger,
            onPositioned: { lease.follow(partitions: $0.count) }
        ) { grants.handle($0) }
        let presenceChanges = EventTail<PresenceEvent>(pool: engines.pool, kafka: engines.reading, logger: logger) {
            await presence.handle($0)
        }
        let schemaAnswers = EventTail<SchemaAnswer>(pool: engines.pool, kafka: engines.reading, logger: logger) {
            schemas.handle($0)
        }
        let watch = LeaseWatch(
            lease: lease, registry: GatewayRegistry(client: engines.postgres), gateway: engines.instance,
            sessions: sessions, readiness: readiness, logger: logger)
        readiness.set(LeaseWatch.name, .notReady("no heartbeat of permissions yet"))
        return [
            engines.service(migrations: [GatewayRegistry.migrations, RealmTables.migrations], servesUsers: true) {
                [
                    grants, committer, relay, changes, ruleHosts, functionLogs,
                    grantChanges, presenceChanges, schemaAnswers, presence, watch, heads, realmRetention,
                    realmDeployments,
                    sessions.opened(after: [changes, grantChanges, watch], readiness: readiness),
                ]
            }
        ]
    }
}

import ChangeStream
import DocumentStore
import EventLoop
import EventStream
import Functions
import Grants
public import Lifecycle
public import ServiceBootstrap
import ServiceEngines

/// The permissions service.
public enum PermissionsServer {
    static let hosts = ConfigurationKey<Int>.int(
        "functions.hosts", default: 4, range: 2...64,
        "Maximum number of processes that run rule functions; one app may use half of them.")
    static let heartbeat = ConfigurationKey<Duration>.duration(
        "heartbeat.interval", default: .seconds(1), range: .milliseconds(50)...(.seconds(60)),
        "How often heartbeats are sent to the gateways; at most half of `lease.duration`.")
    static let lease = ConfigurationKey<Duration>.duration(
        "lease.duration", default: .seconds(5), range: .milliseconds(500)...(.seconds(300)),
        "How long gateways serve after the last heartbeat; the same for all instances.")

    /// The name of the consumer of changes.
    private static let changes = "permissions"

    /// The service's main program.
    public static let main = ServiceMain(
        name: "permissions", summary: "Decides who may open which partition, and revokes access.",
        defaultPort: 8081,
        keys: EngineSettings.keys + EngineSettings.secretKeys + EngineSettings.functionKeys + [
            hosts.description, heartbeat.description, lease.description,
        ])

    /// Creates the service.
    public static func make(_ context: inout ServiceContext) throws -> [any Service] {
        // One heartbeat may be late without all partitions being suspended.
        try context.configuration.check(heartbeat, isAtMostHalf: true, of: lease)
        let engines = try ServiceEngines(context, usesSecrets: true)
        let logger = context.logger
        let functions = FunctionHostPool(
            configuration: try .init(hosts: context.configuration[hosts], context.configuration),
            loop: context.loops.next(), logger: logger)
        let logs = FunctionLogs(client: engines.postgres, logger: logger)
        let fenceAlarm = Alarm()
        let outbox = Outbox(
            GrantOutbox(client: engines.postgres, fenceAlarm: fenceAlarm), producer: engines.events,
            sweepInterval: .seconds(2), logger: logger)
        let relay = GrantRelay(client: engines.postgres, producer: engines.events, outbox: outbox)
        let decider = Decider(
            client: engines.postgres, apps: engines.apps,
            evaluator: RuleEvaluator(store: engines.store, functions: functions, logs: logs), relay: relay,
            logger: logger)
        let heartbeats = GrantHeartbeats(
            producer: engines.events, interval: context.configuration[heartbeat],
            validity: context.configuration[lease], logger: logger,
            catchUp: HandledChanges(client: engines.postgres, consumer: Self.changes, logger: logger).waitForPresent)
        let cleaner = GrantCleaner(client: engines.postgres, relay: relay, logger: logger)
        let fences = FenceTable(client: engines.postgres)
        let receipts = ReceiptWriter(
            fences: fences, gateways: GatewayRegistry(client: engines.postgres), producer: engines.events,
            leaseTime: context.configuration[lease], alarm: fenceAlarm, logger: logger)
        let rules = RuleFollower(
            decider: decider, grants: GrantTable(client: engines.postgres), apps: engines.apps, logger: logger)
        engines.apps.onChange { change in
            // New rules may give other answers, and functions of rules read secrets.
            switch change {
            case .deployed(let app), .secretsChanged(let app): rules.follow(app.id)
            case .removed: break
            }
        }
        let consumers = ServiceGroup(
            services: [
                EventConsumer(
                    pool: engines.pool, group: "permissions-fences", kafka: engines.kafka,
                    handler: FenceAcksHandler(fences: fences, alarm: fenceAlarm, logger: logger), logger: logger),
                EventConsumer(
                    pool: engines.pool, group: "permissions-requests", kafka: engines.kafka,
                    // The questions of many lanes share statements.
                    options: EventConsumerOptions(concurrency: 64),
                    handler: RequestsHandler(
                        decider: decider, apps: engines.apps, clock: engines.clock, logger: logger), logger: logger
                ),
                ChangeConsumer(
                    pool: engines.pool, name: Self.changes, kafka: engines.kafka, postgres: engines.postgres,
                    source: ChangeHistory(client: engines.postgres, epoch: engines.epoch),
                    handler: ChangesHandler(
                        decider: decider, dependencies: DependencyTable(client: engines.postgres), logger: logger),
                    logger: logger),
                EventConsumer(
                    pool: engines.pool, group: "permissions-accounts", kafka: engines.kafka,
                    handler: AuthEventsHandler(decider: decider, logger: logger), logger: logger),
            ], ending: .together, logger: logger)
        return [
            engines.service(migrations: [PermissionsMigrations.all, GatewayRegistry.migrations]) {
                [
                    functions, logs, outbox, heartbeats, receipts, cleaner, rules, consumers,
                ]
            }
        ]
    }
}

import AppDeployment
import ChangeStream
import DocumentStore
import EventLoop
import EventStream
import EventTopics
import Functions
import HTTPClient
import HTTPServer
public import Lifecycle
import Presence
public import ServiceBootstrap
import ServiceEngines

/// The trigger workers.
public enum TriggerWorkersServer {
    static let hosts = ConfigurationKey<Int>.int(
        "functions.hosts", default: 8, range: 2...256,
        "Maximum number of processes that run functions, each of one app; an app may use half of those that no other uses."
    )

    /// The service's main program.
    public static let main = ServiceMain(
        name: "trigger-workers", summary: "Runs triggers and functions, and marks absent users as offline.",
        defaultPort: 8083,
        keys: EngineSettings.keysWithRedis + EngineSettings.secretKeys + EngineSettings.functionKeys
            + EngineSettings.egressKeys + EndpointLimits.keys + TriggerLoops.keys + WatchLimits.keys + [
                hosts.description, TriggerRetention.deadLetters.description, EngineSettings.ruleHosts.description,
                EngineSettings.presenceTTL.description, EngineSettings.publicURL.description,
            ])

    /// Creates the service.
    public static func make(_ context: inout ServiceContext) throws -> [any Service] {
        let engines = try ServiceEngines(context, usesRedis: true, usesSecrets: true)
        let logger = context.logger
        let functions = FunctionHostPool(
            configuration: try .init(hosts: context.configuration[hosts], context.configuration),
            loop: context.loops.next(), logger: logger)
        let ruleFunctions = FunctionHostPool(
            configuration: try .init(hosts: context.configuration[EngineSettings.ruleHosts], context.configuration),
            loop: context.loops.next(),
            logger: logger)
        var http = HTTPClient.Configuration()
        http.egress = try EgressPolicy(context.configuration)
        // All of an app's calls may wait for the same server.
        http.maximumConnectionsPerHost = max(
            http.maximumConnectionsPerHost, context.configuration[EngineSettings.functionCalls] / 2)
        let effects = OutsideEffects(http: HTTPClient(loop: context.loops.next(), configuration: http))
        let ttl = context.configuration[EngineSettings.presenceTTL]
        let leases = PresenceLeases(redis: engines.redis, ttl: ttl, prefix: "\(engines.pool):")
        let logs = FunctionLogs(client: engines.postgres, logger: logger)
        let turns = DocumentTurns(connections: engines.connections)
        let runner = TriggerRunner(
            client: engines.postgres, store: engines.store, turns: turns, functions: functions, effects: effects,
            logs: logs, events: engines.events, loops: TriggerLoops(context.configuration), logger: logger)
        let missed = MissedEvents(client: engines.postgres)
        let schedules = ScheduleTable(client: engines.postgres)
        let deployments = AppDeployments(
            client: engines.postgres, registry: engines.registry, loop: context.loops.next(),
            operator: engines.instance,
            publish: { [events = engines.events] send in try await send(events) })
        let retention = TriggerRetention(
            client: engines.postgres, logger: logger, lettersOfApp: context.configuration[TriggerRetention.deadLetters])
        let shutOut = ShutOutTable(engines.postgres)
        let flips = PresenceFlips(
            apps: engines.apps, store: engines.store, client: engines.postgres, shutOut: shutOut, logger: logger)
        let clientFunctions = ClientFunctions(
            apps: engines.apps, store: engines.store, turns: turns, hosts: functions,
            rules: RuleFunctions(hosts: ruleFunctions, store: engines.store, logs: logs), effects: effects,
            shutOut: shutOut, logs: logs)
        let address = PublicAddress(context.configuration)
        let call = FunctionCallRoute(
            apps: engines.apps, access: engines.access, store: engines.store, functions: clientFunctions,
            address: address)
        let counts = SharedCounts(redis: engines.redis, prefix: "\(engines.pool):endpoint-calls:", logger: logger) {
            TriggerMetrics.throttleFailures.increment()
        }
        let run = EndpointRun(
            access: engines.access, functions: clientFunctions,
            limits: EndpointLimits(counts: counts, context.configuration), address: address)
        let endpoint = EndpointRoute(apps: engines.apps, run: run)
        let webhook = WebhookRoute(apps: engines.apps, run: run)
        for method in EndpointRun.methods {
            context.router.on(method, EndpointRoute.template, bodyLimit: EndpointRun.bodyLimit) {
                try await endpoint.handle($0)
            }
            context.router.on(method, WebhookRoute.template, bodyLimit: EndpointRun.bodyLimit) {
                try await webhook.handle($0)
            }
        }
        context.router.post("/api/client/v2.0/app/:app/functions/call", bodyLimit: 18 << 20) {
            try await call.handle($0)
        }
        context.http.cors = CORSPolicy(apps: engines.apps, hosting: engines.hosting)
        let watch = WatchService(context, engines, clientFunctions)
        context.router.get(WatchRoute.template) { try await watch.route.handle($0) }
        context.http.onDrain = { watch.watches.stop() }
        // An app's triggers get half of the lanes.
        // An ordered trigger's batch is run one after the other, and must end in the time that a shutdown leaves.
        let options = EventConsumerOptions(concurrency: 128, batchLimit: 20)
        let consumers = ServiceGroup(
            services: [
                ChangeConsumer(
                    pool: engines.pool, name: "trigger-workers", kafka: engines.kafka, postgres: engines.postgres,
                    source: ChangeHistory(client: engines.postgres, epoch: engines.epoch), options: options,
                    handler: DatabaseTriggersHandler(
                        apps: engines.apps, runner: runner, missed: missed, flips: flips,
                        turns: OrderedTurns(client: engines.postgres),
                        history: ChangeHistory(client: engines.postgres, epoch: engines.epoch), logger: logger),
                    logger: logger),
                EventConsumer(
                    pool: engines.pool, group: "trigger-workers-accounts", kafka: engines.kafka, options: options,
                    handler: AuthenticationTriggersHandler(
                        apps: engines.apps, runner: runner, missed: missed, logger: logger),
                    logger: logger),
                EventConsumer(
                    pool: engines.pool, group: "trigger-workers-presence", kafka: engines.kafka,
                    handler: PresenceWriter(flips: flips, logger: logger),
                    logger: logger),
            ], ending: .together, logger: logger)
        return [
            engines.service(migrations: [TriggerWorkersMigrations.all], servesUsers: true) {
                [
                    functions, ruleFunctions, logs, retention, consumers,
                    PresenceWatcher(leases: leases, events: engines.events, logger: logger),
                    PresenceRepair(
                        leases: leases, ttl: ttl, client: engines.postgres, events: engines.events, logger: logger),
                    ExpirySweeper(store: engines.store, logger: logger),
                    ScheduledTriggers(
                        apps: engines.apps, table: schedules, runner: runner, clock: engines.clock, logger: logger),
                    ResumedTriggers(
                        apps: engines.apps, missed: missed, history: ChangeHistory(client: engines.postgres),
                        schedules: schedules, runner: runner, clock: engines.clock, logger: logger),
                    DeploymentKeeper(deployments, logger: logger), watch.tail, watch.keeper,
                    watch.resumptions.short, watch.resumptions.long,
                ]
            }
        ]
    }
}

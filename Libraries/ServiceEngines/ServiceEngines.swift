import AccessTokens
public import AppRegistry
public import DocumentModel
public import DocumentStore
import EventLoop
public import EventStream
import EventTopics
public import Kafka
public import Lifecycle
import Logging
public import Postgres
public import Redis
public import Secrets
public import ServiceBootstrap
import SyncEngine

/// The parts that every service on the document store has: the clients of the engines, the deployed apps, the document store that
/// knows them, and the keys that tokens are checked with.
public final class ServiceEngines: Sendable {
    public let postgres: PostgresClient
    /// The number of connections to Postgres.
    public let connections: Int
    private let redisClient: RedisClient?
    public let kafka: KafkaConfiguration
    /// The client for all reads outside of consumer groups.
    public let reading: KafkaClient
    public let pool: String
    public let events: EventProducer
    public let registry: AppRegistry
    /// The keys that secrets are encrypted with; empty for a service that is made without `usesSecrets`.
    public let keys: KeyRing
    private let usesSecrets: Bool
    public let apps: AppDirectory
    public let store: DocumentStore
    public let epoch: EpochWatch
    /// Kept up to date in a service that is made with `servesUsers`.
    public let access: AccessCheck
    /// Where apps' hosted files are served; `nil` when they aren't.
    public let hosting: HostingAddress?
    /// The time of day that services decide by.
    public let clock: WallClock
    /// This process's name in events and logs.
    public let instance: String
    private let replication: Int?
    private let producer: KafkaProducer
    private let admin: KafkaAdmin
    private let topics: TopicKeeper
    private let readiness: Readiness
    private let startAgain: @Sendable (String) -> Void
    private let logger: Logger

    /// Redis. It is a mistake in the code when a service asks for it that was made without `usesRedis`.
    public var redis: RedisClient {
        guard let redisClient else { preconditionFailure("the service was made without usesRedis") }
        return redisClient
    }

    /// Opens nothing; `service` does.
    /// - Parameters:
    ///   - usesRedis: its keys name Redis.
    ///   - usesSecrets: its keys name what secrets are encrypted with, and it needs apps' secrets.
    /// - Throws: what is wrong with a URL.
    public init(
        _ context: ServiceContext, usesRedis: Bool = false, usesSecrets: Bool = false, clock: WallClock = .system
    ) throws {
        self.clock = clock
        let configuration = context.configuration
        hosting = try HostingAddress(configuration)
        logger = context.logger
        readiness = context.readiness
        startAgain = context.startAgain
        readiness.set("apps", .notReady("not loaded yet"))  // here, since health may be requested before `run`
        instance = "\(context.name)-\(ObjectId().hexString.suffix(8))"
        let epoch = EpochWatch(logger: logger)
        self.epoch = epoch
        var settings = try EngineSettings.postgres(configuration, as: instance)
        settings.prepare = { try await epoch.check(on: $0) }
        epoch.onChange { [startAgain = context.startAgain] change in
            if change.isLoss { startAgain("the database may have lost commits: its epoch is \(change.epoch) now") }
        }
        connections = settings.connections
        postgres = PostgresClient(configuration: settings, on: context.loops, logger: logger)
        redisClient =
            usesRedis
            ? RedisClient(configuration: try EngineSettings.redis(configuration), on: context.loops, logger: logger)
            : nil
        kafka = try EngineSettings.kafka(configuration, as: context.name)
        pool = EngineSettings.pool(configuration)
        replication = EngineSettings.replication(configuration)
        producer = KafkaProducer(configuration: kafka, loop: context.loops.next(), logger: logger)
        events = EventProducer(producer, pool: pool)
        reading = KafkaClient(configuration: kafka, logger: logger)
        admin = KafkaAdmin(client: reading, logger: logger)
        topics = TopicKeeper(pool: pool, admin: admin, replication: replication, logger: logger)
        self.usesSecrets = usesSecrets
        keys = usesSecrets ? KeyRing(configuration) : .empty
        registry = AppRegistry(client: postgres, keys: keys)
        apps = AppDirectory(registry: registry, instance: instance, logger: logger)
        store = DocumentStore(client: postgres, clock: clock, logger: logger)
        let verifier = try TokenVerifier()
        access = AccessCheck(
            verifier: verifier,
            shutOut: ShutOut(client: postgres, loop: context.loops.next(), clock: clock, logger: logger), clock: clock,
            signingKeys: Self.signingKeys(of: verifier, pool: pool, kafka: reading, logger: logger))
        apps.onChange { [store] change in
            switch change {
            case .deployed(let app): store.define(AppStorage(app.definition))
            case .secretsChanged: break
            case .removed(let app): store.undefine(app: app)
            }
        }
    }

    /// Makes this service the one that creates deleted topics again.
    /// - Parameter onMade: Publishes the events that readers of the new topics depend on.
    public func ownTopics(onMade: @escaping @Sendable () -> Void) { topics.own(onMade) }

    /// All parts as one service: first the clients, then tables and topics, then `work`, which may rely on them.
    /// - Parameters:
    ///   - migrations: those of the service's own tables.
    ///   - servesUsers: whether it serves users, so that it has to know the blocked users and ended sessions.
    ///   - work: makes the service's own parts; called when tables and topics exist and the apps are loaded.
    public func service(
        migrations: [Migrations] = [], servesUsers: Bool = false,
        work: @escaping @Sendable () async throws -> [any Service]
    ) -> any Service {
        if servesUsers { readiness.set("accounts", .notReady("not loaded yet")) }
        return Root(engines: self, migrations: migrations, servesUsers: servesUsers, work: work)
    }

    private struct Root: Service {
        let engines: ServiceEngines
        let migrations: [Migrations]
        let servesUsers: Bool
        let work: @Sendable () async throws -> [any Service]

        func run() async throws {
            let redis: [any Service] = engines.redisClient.map { [$0] } ?? []
            let clients: [any Service] = [engines.postgres] + redis + [Broker(engines.producer, engines.admin)]
            let prepared = Prepared(engines: engines, migrations: migrations, servesUsers: servesUsers, work: work)
            try await ServiceGroup(services: clients + [prepared], logger: engines.logger).run()
        }
    }

    private struct Prepared: Service {
        let engines: ServiceEngines
        let migrations: [Migrations]
        let servesUsers: Bool
        let work: @Sendable () async throws -> [any Service]

        func run() async throws {
            do {
                try await cancelWhenGracefulShutdown { try await engines.prepare(migrations) }
            } catch is CancellationError {
                return  // shut down before the engines were available
            }
            let shared: [any Service] = [
                engines.store, engines.epoch.watching(engines.postgres),
                // It waits for the right time then.
                ClockComparison(client: engines.postgres).watching(engines.startAgain), engines.apps,
                engines.apps.announcements(pool: engines.pool, kafka: engines.reading),
            ]
            let topics: [any Service] = engines.kafka.embedded ? [] : [engines.topics]
            let access = engines.access
            let accounts: [any Service] =
                servesUsers
                ? [
                    access.signingKeys, access.shutOut,
                    access.shutOut.announcements(pool: engines.pool, kafka: engines.reading),
                ] : []
            let loaded = Loaded(engines: engines, servesUsers: servesUsers, work: work)
            try await ServiceGroup(services: shared + topics + accounts + [loaded], logger: engines.logger).run()
        }
    }

    private struct Loaded: Service {
        let engines: ServiceEngines
        let servesUsers: Bool
        let work: @Sendable () async throws -> [any Service]

        func run() async throws {
            await engines.apps.waitUntilLoaded()
            engines.readiness.set("apps", .ready)
            if servesUsers {
                do {
                    try await cancelWhenGracefulShutdown { try await engines.access.waitUntilLoaded() }
                } catch is CancellationError {
                    return
                }
                engines.readiness.set("accounts", .ready)
            }
            try await ServiceGroup(services: try await work(), logger: engines.logger).run()
        }
    }

    private struct WrongEncoding: Error, CustomStringConvertible {
        let encoding: String
        var description: String {
            "the database's encoding is \(encoding): it has to be UTF8 (createdb --encoding UTF8 --template template0)"
        }
    }

    /// Closes the clients of the broker, after all services that send.
    private struct Broker: Service {
        let producer: KafkaProducer
        let admin: KafkaAdmin

        init(_ producer: KafkaProducer, _ admin: KafkaAdmin) {
            self.producer = producer
            self.admin = admin
        }

        func run() async throws {
            try? await gracefulShutdown()  // a cancellation ends it as well
            await producer.close()
            await admin.close()
        }
    }

    /// Waits until the engines are available, without a limit, and creates missing tables and topics.
    private func prepare(_ own: [Migrations]) async throws {
        readiness.add("postgres") { [postgres] in try await postgres.check() }
        // Reads still work.
        readiness.add("postgres-writes", isRequired: false) { [postgres] in try postgres.checkShortages() }
        // Without these a service goes on with what it has, so that taking it out of the balancer would only make it worse.
        if let redisClient {
            readiness.add("redis", isRequired: false) { [instance] in
                try await redisClient.check(writing: "partita:ready:\(instance)")
            }
        }
        readiness.add("kafka", isRequired: false) { [admin, pool] in
            _ = try await admin.metadata(
                AppDefinitionEvent.topic.contract.fullName(pool: pool), timeout: .seconds(1))
        }
        _ = try await readiness.waitUntilReady("tables", logger: logger) { [postgres, registry] in
            let encoding: String = try await postgres.query("show server_encoding").decode(String.self).first ?? ""
            guard encoding == "UTF8" else { throw WrongEncoding(encoding: encoding) }
            try await registry.migrate()
            let shared = [DocumentStore.migrations, HandledEvents.migrations, ShutOutTable.migrations]
            for migrations in shared + own { try await migrations.apply(on: postgres) }
        }
        // Before anything is done that depends on the time.
        _ = try await readiness.waitUntilReady("clock", logger: logger) { [postgres] in
            try await ClockComparison(client: postgres).check()
        }
        try await prepareSecrets()
        _ = try await readiness.waitUntilReady("topics", logger: logger) { [admin, pool, replication] in
            // A short time limit, so that `/health/ready` shows the reason soon; the next attempt continues from there.
            try await TopicOwner.createAll(
                pool: pool, on: admin, replicationFactor: replication, timeout: .seconds(5))
        }
        // Before anything is read that belongs to an epoch.
        _ = try await readiness.waitUntilReady("epoch", logger: logger) { [self] in
            if !kafka.embedded {
                try await TopicWitness(
                    pool: pool, kafka: kafka, store: store, registry: registry, logger: logger
                ).compare()
            }
            try await epoch.check(on: postgres, isFirst: true)
        }
        // From here on, most of the work is possible without a missing topic, and the topic is created again.
        readiness.add("topics", isRequired: false) { [topics] in try topics.check() }
    }

    /// Encrypts secrets again that aren't encrypted with the current key.
    /// - Throws: `ConfigurationError` when a key is missing that apps' secrets are encrypted with: functions would find these
    ///   secrets unset.
    private func prepareSecrets() async throws {
        guard usesSecrets else { return }
        let uses = try await readiness.waitUntilReady("secrets", logger: logger) { [registry] in
            try await registry.secretKeyUses()
        }
        if let problem = keys.problem(with: uses) {
            throw ConfigurationError(key: EngineSettings.encryptionKeys.description.name, problem)
        }
        let count = try await readiness.waitUntilReady("secrets", logger: logger) { [registry] in
            try await registry.resealSecrets()
        }
        if count > 0 {
            logger.notice(
                "secrets are encrypted with the current key", metadata: ["count": .stringConvertible(count)])
        }
    }

    /// A reader that keeps a verifier's keys equal to those of the topic.
    private static func signingKeys(
        of verifier: TokenVerifier, pool: String, kafka: KafkaClient, logger: Logger
    ) -> StateReader<SigningKeyEvent> {
        StateReader(pool: pool, kafka: kafka, logger: logger) { changes in
            for change in changes {
                switch change {
                case .removed(let key):
                    if let id = EventKey.parts(key, count: 2)?.last { verifier.removeKey(id: String(id)) }
                case .set(let event):
                    do {
                        try verifier.add(try TokenPublicKey(jwk: event.payload.jwk))
                    } catch {
                        logger.error("a signing key can't be used", metadata: ["error": "\(error)"])
                    }
                }
            }
        }
    }
}

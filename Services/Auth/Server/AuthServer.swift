import AppRegistry
import DocumentModel
import DocumentStore
public import EventLoop
import EventStream
import Functions
public import HTTPServer
import Kafka
public import Lifecycle
public import Logging
import Postgres
import Redis

/// The auth service in one process: its clients of the engines, its background work and its routes; who hosts it brings the HTTP
/// server.
///
/// It starts without its engines and waits for them; a request that needs one that is away is answered with 503.
public final class AuthServer: Service {
    private let configuration: AuthConfiguration
    private let logger: Logger
    private let postgres: PostgresClient
    private let redis: RedisClient
    private let producer: KafkaProducer
    private let kafka: KafkaConfiguration
    private let registry: AppRegistry
    private let apps: AppDirectory
    private let store: AccountStore
    private let keys: SigningKeyRing
    private let relay: AuthEventRelay
    private let hasher: PasswordHasher
    private let hosts: FunctionHostPool
    private let routes: AuthRoutes
    private let isPrepared = Locked(false)

    /// Opens nothing; `run` does.
    ///
    /// - Throws: what is wrong with the configuration.
    public convenience init(
        configuration: AuthConfiguration, on loops: LoopGroup, logger: Logger = Logger(label: "auth")
    ) throws {
        try self.init(
            configuration: configuration, functions: nil, clock: .system,
            schedule: SigningKeyRing.Schedule(longestToken: configuration.refreshTokenLifetime.wholeSeconds), on: loops,
            logger: logger)
    }

    /// - Parameter functions: instead of the host processes, in tests.
    init(
        configuration: AuthConfiguration, functions: FunctionCaller?, clock: AuthClock,
        schedule: SigningKeyRing.Schedule,
        on loops: LoopGroup, logger: Logger
    ) throws {
        self.configuration = configuration
        self.logger = logger
        var postgresConfiguration = PostgresConfiguration(url: configuration.postgresURL)
        postgresConfiguration.connections = configuration.postgresConnections
        postgresConfiguration.applicationName = "auth"
        postgres = PostgresClient(configuration: postgresConfiguration, on: loops, logger: logger)
        redis = RedisClient(
            configuration: try RedisConfiguration(url: configuration.redisURL), on: loops, logger: logger)
        kafka = KafkaConfiguration(
            bootstrapServers: configuration.kafkaBootstrap, clientID: "auth", embedded: configuration.kafkaEmbedded)
        producer = KafkaProducer(configuration: kafka, loop: loops.next(), logger: logger)
        let events = EventProducer(producer, pool: configuration.pool)
        let metrics = AuthMetrics()
        registry = AppRegistry(client: postgres)
        apps = AppDirectory(registry: registry, pollInterval: configuration.appPollInterval, logger: logger)
        store = AccountStore(client: postgres)
        keys = try SigningKeyRing(
            store: store, box: SecretBox(secret: configuration.keySecret), schedule: schedule, producer: events,
            clock: clock, logger: logger)
        relay = AuthEventRelay(
            store: store, producer: events, owner: ObjectId().hexString, clock: clock, metrics: metrics, logger: logger)
        hasher = PasswordHasher(
            threads: configuration.passwordThreads,
            costs: PasswordCosts(
                operations: configuration.passwordOperations, memoryBytes: configuration.passwordMemory),
            metrics: metrics)
        hosts = FunctionHostPool(
            configuration: FunctionHostPool.Configuration(hosts: configuration.functionHosts), loop: loops.next(),
            logger: logger)
        let documents = DocumentStore(client: postgres, logger: logger)
        apps.keep(documents)
        let appFunctions = AppFunctions(pool: hosts, store: documents, logger: logger)
        let service = AccountService(
            apps: apps, store: store, hasher: hasher,
            throttle: AttemptThrottle(redis: redis, configuration: configuration, metrics: metrics, logger: logger),
            keys: keys, relay: relay,
            mail: try MailSender(configuration: configuration, on: loops.next(), logger: logger),
            functions: functions ?? appFunctions.caller, clock: clock,
            lifetimes: AccountService.TokenLifetimes(configuration), metrics: metrics, logger: logger)
        routes = AuthRoutes(support: RouteSupport(service: service, configuration: configuration))
    }

    /// Adds auth's routes.
    public func addRoutes(to router: inout HTTPRouter) { routes.add(to: &router) }

    /// Which pages of other origins may call: what the apps allow.
    public var cors: CORSPolicy { routes.cors }

    /// What auth needs, by name, with a check each that throws while it is missing.
    public var components: [(name: String, check: @Sendable () async throws -> Void)] {
        [
            ("postgres", { try await self.postgres.check() }), ("redis", { try await self.redis.check() }),
            (
                "apps",
                {
                    guard self.isPrepared.withLock({ $0 }), self.apps.isLoaded else {
                        throw AuthError(.serviceUnavailable, "tables, topics and apps are being prepared")
                    }
                }
            ), ("signing-keys", { try self.keys.check() }),
        ]
    }

    /// Runs until graceful shutdown: the outbox is relayed once more, then the clients close.
    public func run() async throws {
        let group = ServiceGroup(
            services: [
                ThreadsOwner(hasher: hasher), postgres, redis, ProducerOwner(producer: producer), hosts,
                BackgroundWork(server: self),
            ], logger: logger)
        try await group.run()
    }

    /// What needs the tables and topics to be there, and runs when they are.
    private struct BackgroundWork: Service {
        let server: AuthServer

        func run() async throws {
            do {
                try await cancelWhenGracefulShutdown { try await server.prepare() }
            } catch is CancellationError {
                return
            }
            try await ServiceGroup(
                services: [
                    server.relay, server.keys, server.apps,
                    server.apps.announcements(pool: server.configuration.pool, kafka: server.kafka),
                ], logger: server.logger
            ).run()
        }
    }

    /// Creates tables and topics, waiting for the engines as long as it takes.
    private func prepare() async throws {
        try await untilItWorks("tables can't be prepared") {
            try await DocumentStoreMigrations.migrations.apply(on: self.postgres)
            try await self.registry.migrate()
            try await self.store.migrate()
        }
        try await untilItWorks("topics can't be created") {
            let admin = KafkaAdmin(configuration: self.kafka, logger: self.logger)
            do {
                try await TopicOwner.createAll(pool: self.configuration.pool, on: admin)
            } catch {
                await admin.close()
                throw error
            }
            await admin.close()
        }
        isPrepared.withLock { $0 = true }
    }

    private func untilItWorks(_ failure: Logger.Message, _ body: () async throws -> Void) async throws {
        var pause = Duration.milliseconds(200)
        while true {
            do {
                return try await body()
            } catch let error as CancellationError {
                throw error
            } catch {
                logger.warning(failure, metadata: ["error": "\(error)"])
                try await Task.sleep(for: pause)
                pause = min(pause * 2, .seconds(5))
            }
        }
    }
}

/// Closes the producer after everybody who sends.
private struct ProducerOwner: Service {
    let producer: KafkaProducer

    func run() async throws {
        // Cancelled or asked: either way it closes.
        try? await gracefulShutdown()
        await producer.close()
    }
}

/// Ends the hashing threads after everybody who hashes.
private struct ThreadsOwner: Service {
    let hasher: PasswordHasher

    func run() async throws {
        // Cancelled or asked: either way they end.
        try? await gracefulShutdown()
        hasher.stop()
    }
}

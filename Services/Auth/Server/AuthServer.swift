import AppRegistry
import DocumentModel
public import EventLoop
import EventStream
public import HTTPServer
import Kafka
public import Lifecycle
public import Logging
import Postgres
import Redis

/// The auth service in one process: its clients of the engines, its background work and its HTTP server.
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
    private let http: HTTPServer
    private let isPrepared = Locked(false)

    /// Opens nothing; `run` does.
    ///
    /// - Parameters:
    ///   - functions: calls an app's functions (confirmation, reset, custom authentication).
    ///   - addRoutes: adds what every service serves, as health and metrics.
    public convenience init(
        configuration: AuthConfiguration, functions: FunctionCalling? = nil, on loops: LoopGroup,
        logger: Logger = Logger(label: "auth"), addRoutes: (inout HTTPRouter) -> Void = { _ in }
    ) throws {
        try self.init(
            configuration: configuration, functions: functions.map { FunctionCaller($0) } ?? .none, clock: .system,
            schedule: SigningKeyRing.Schedule(longestToken: Int64(configuration.refreshTokenSeconds)), on: loops,
            logger: logger, addRoutes: addRoutes)
    }

    /// Calls a function of an app, as system, and returns its result.
    public typealias FunctionCalling =
        @Sendable (_ app: DeployedApp, _ function: String, _ arguments: [Value]) async throws -> Value

    init(
        configuration: AuthConfiguration, functions: FunctionCaller, clock: AuthClock,
        schedule: SigningKeyRing.Schedule,
        on loops: LoopGroup, logger: Logger, addRoutes: (inout HTTPRouter) -> Void
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
        apps = AppDirectory(registry: registry, pollInterval: .milliseconds(configuration.appPollMs), logger: logger)
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
        let throttle = AttemptThrottle(redis: redis, configuration: configuration, metrics: metrics, logger: logger)
        let service = AccountService(
            apps: apps, store: store, hasher: hasher, throttle: throttle, keys: keys, relay: relay,
            mail: try MailSender(configuration: configuration, logger: logger), functions: functions, clock: clock,
            lifetimes: AccountService.TokenLifetimes(configuration), metrics: metrics, logger: logger)
        let routes = AuthRoutes(support: RouteSupport(service: service, configuration: configuration))
        var router = HTTPRouter()
        routes.add(to: &router)
        addRoutes(&router)
        routeTemplates = router.templates
        var httpConfiguration = HTTPServerConfiguration(address: configuration.address, port: configuration.port)
        httpConfiguration.cors = routes.cors
        http = HTTPServer(httpConfiguration, router: router, loops: loops.loops, logger: logger)
    }

    /// The methods and templates of all routes.
    public let routeTemplates: [String]

    /// The port that is listened on; before `run` the one that was asked for.
    public var port: Int { http.port }

    /// Whether the tables are there, the apps loaded and the engines reachable: fit for traffic.
    ///
    /// - Throws: why it isn't.
    public func checkReadiness() async throws {
        guard isPrepared.withLock({ $0 }), apps.isLoaded else {
            throw AuthError(.serviceUnavailable, "the service is still starting")
        }
        try await postgres.check()
        try await redis.check()
    }

    /// Runs until graceful shutdown: no new requests, running ones are finished, the outbox is relayed once more, then the
    /// clients close.
    public func run() async throws {
        let group = ServiceGroup(
            services: [
                ThreadsOwner(hasher: hasher), postgres, redis, ProducerOwner(producer: producer),
                BackgroundWork(server: self),
                http,
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

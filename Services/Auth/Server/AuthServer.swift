import DocumentModel
import DocumentStore
import EventLoop
import Functions
import HTTPClient
import HTTPServer
public import Lifecycle
import Postgres
import Redis
public import ServiceBootstrap
import ServiceEngines

/// The auth service.
///
/// It starts without its engines and waits for them; a request that needs one that is away is answered with 503.
public enum AuthServer {
    /// The service's main program.
    public static let main = ServiceMain(
        name: "auth", summary: "Accounts: sign-up, sign-in, sessions and tokens.", defaultPort: 8080,
        keys: EngineSettings.keysWithRedis + EngineSettings.secretKeys + EngineSettings.functionKeys
            + EngineSettings.egressKeys + AuthKeys.all)

    /// Makes the service: adds its routes to the context, opens nothing yet.
    ///
    /// - Throws: what is wrong with the configuration.
    public static func make(_ context: inout ServiceContext) throws -> [any Service] {
        let engines = try ServiceEngines(context, usesRedis: true, usesSecrets: true)
        return try make(&context, engines: engines, functions: nil, clock: .system)
    }

    /// - Parameter functions: instead of the host processes, in tests.
    static func make(
        _ context: inout ServiceContext, engines: ServiceEngines, functions: FunctionCaller?, clock: WallClock
    ) throws -> [any Service] {
        let configuration = AuthConfiguration(context.configuration)
        guard !engines.keys.isEmpty else {
            throw ConfigurationError(
                key: "encryption.keys",
                "must be set, since signing keys are stored encrypted (`openssl rand -hex 32` makes one)")
        }
        let logger = context.logger
        let store = AccountStore(client: engines.postgres)
        let metrics = AuthMetrics()
        let keys = try SigningKeyRing(
            store: store, secrets: engines.keys,
            schedule: SigningKeyRing.Schedule(longestToken: configuration.refreshTokenLifetime.wholeSeconds),
            producer: engines.events, clock: clock, logger: logger)
        // Without keys no gateway that starts can let anybody in.
        engines.ownTopics { keys.publishAgain() }
        let relay = AuthEventRelay(
            store: store, producer: engines.events,
            leases: WorkLeases("auth-events", holder: engines.instance, client: engines.postgres), clock: clock,
            metrics: metrics,
            logger: logger)
        let hasher = PasswordHasher(
            threads: configuration.passwordThreads,
            costs: PasswordCosts(
                operations: configuration.passwordOperations, memoryBytes: configuration.passwordMemory),
            queueLimit: configuration.passwordQueue, metrics: metrics)
        let counts = ThrottleStore(
            redis: engines.redis, prefix: configuration.redisPrefix, metrics: metrics, logger: logger)
        let hosts = FunctionHostPool(
            configuration: try FunctionHostPool.Configuration(
                hosts: configuration.functionHosts, context.configuration),
            loop: context.loops.next(),
            logger: logger)
        let service = AccountService(
            apps: engines.apps, store: store, hasher: hasher,
            throttle: AttemptThrottle(store: counts, configuration: configuration),
            budget: CallBudget(store: counts, configuration: configuration),
            keys: keys,
            issuers: TokenIssuers(
                registry: engines.registry,
                published: PublishedKeys(
                    loop: context.loops.next(), allowsPlain: configuration.allowsPlainKeySets,
                    egress: try EgressPolicy(context.configuration), logger: logger),
                logger: logger),
            relay: relay,
            mail: try MailSender(configuration: configuration, on: context.loops.next(), logger: logger),
            functions: functions ?? AppFunctions(pool: hosts, store: engines.store, logger: logger).caller,
            customData: CustomDataReader(store: engines.store, logger: logger), clock: clock,
            lifetimes: AccountService.TokenLifetimes(configuration), metrics: metrics, logger: logger)
        AuthRoutes(support: RouteSupport(service: service, configuration: configuration)).add(to: &context.router)
        context.http.cors = CORSPolicy(apps: engines.apps)
        context.readiness.add("signing-keys") { try keys.check() }
        return [
            HashingThreads(hasher: hasher),
            engines.service(migrations: [AccountStore.migrations]) {
                try await keys.requireReadable()
                return [hosts, keys, relay]
            },
        ]
    }
}

/// Ends the hashing threads after everybody who hashes.
private struct HashingThreads: Service {
    let hasher: PasswordHasher

    func run() async throws {
        // Cancelled or asked: either way they end.
        try? await gracefulShutdown()
        hasher.stop()
    }
}

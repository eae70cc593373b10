import AppDeployment
import AppRegistry
import DocumentModel
import DocumentStore
import EventLoop
import EventStream
import Foundation
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
        return try make(&context, engines: engines, functions: nil)
    }

    /// - Parameter functions: instead of the host processes, in tests.
    static func make(
        _ context: inout ServiceContext, engines: ServiceEngines, functions: FunctionCaller?
    ) throws -> [any Service] {
        let configuration = context.configuration
        let clock = engines.clock
        guard !engines.keys.isEmpty else {
            throw ConfigurationError(
                key: "encryption.keys",
                "must be set, since signing keys are stored encrypted (`openssl rand -hex 32` makes one)")
        }
        if let url = configuration[EngineSettings.publicURL], let host = URLComponents(string: url)?.host,
            engines.hosting?.contains(host: host) == true
        {
            throw ConfigurationError(
                key: "hosting.url",
                "must be another domain than the one that public.url is part of: an app could have the id by which clients reach the services"
            )
        }
        let logger = context.logger
        let store = AccountStore(client: engines.postgres)
        let metrics = AuthMetrics()
        try configuration.check(AuthKeys.accessTokenLifetime, of: AuthKeys.refreshTokenLifetime)
        let lifetimes = TokenLifetimes(configuration)
        let keys = try SigningKeyRing(
            store: store, secrets: engines.keys, schedule: SigningKeyRing.Schedule(longestToken: lifetimes.refresh),
            producer: engines.events, clock: clock, logger: logger)
        // A gateway that starts without keys can let no user in.
        engines.ownTopics { keys.publishAgain() }
        let outbox = Outbox(
            AuthOutbox(
                store: store, leases: WorkLeases("auth-events", holder: engines.instance, client: engines.postgres),
                clock: clock, metrics: metrics),
            producer: engines.events, sweepInterval: .seconds(1), logger: logger)
        let pushes = Outbox(
            PushOutbox(
                store: store, producer: engines.events,
                leases: WorkLeases("push-registrations", holder: engines.instance, client: engines.postgres)),
            producer: engines.events, sweepInterval: .seconds(1), logger: logger)
        let audit = Outbox(
            AuditOutbox(
                store: store, leases: WorkLeases("audit", holder: engines.instance, client: engines.postgres)),
            producer: engines.events, sweepInterval: .seconds(1), logger: logger)
        let hosts = FunctionHostPool(
            configuration: try FunctionHostPool.Configuration(
                hosts: configuration[AuthKeys.functionHosts], configuration),
            loop: context.loops.next(), logger: logger)
        let hasher = PasswordHasher(configuration: configuration, metrics: metrics)
        let counts = ThrottleStore(
            redis: engines.redis, prefix: configuration[AuthKeys.redisPrefix], metrics: metrics, logger: logger)
        let throttle = AttemptThrottle(store: counts, configuration: configuration)
        let budget = CallBudget(store: counts, configuration: configuration)
        var http = HTTPClient.Configuration()
        http.egress = try EgressPolicy(configuration)
        let outside = OutsideEffects(http: HTTPClient(loop: context.loops.next(), configuration: http))
        let functionLogs = FunctionLogs(client: engines.postgres, logger: logger)
        let functions =
            functions ?? AppFunctions(pool: hosts, store: engines.store, outside: outside, logs: functionLogs).caller

        let accounts = Accounts(store: store, wakeOutbox: { outbox.wake() }, clock: clock)
        let ends = SessionEnds(accounts: accounts)
        let sessions = Sessions(
            accounts: accounts, ends: ends, apps: engines.apps, keys: keys,
            customData: CustomDataReader(store: engines.store, logger: logger), lifetimes: lifetimes, logger: logger)
        let links = EmailLinks(
            accounts: accounts,
            sender: try MailSender(configuration: configuration, on: context.loops.next(), logger: logger),
            functions: functions, lifetime: configuration[AuthKeys.mailTokenLifetime].components.seconds,
            metrics: metrics, logger: logger)
        let issuerClient = IssuerClient(
            loop: context.loops.next(), allowsPlain: configuration[AuthKeys.allowsPlainKeySets],
            egress: try EgressPolicy(configuration))
        let published = PublishedKeys(client: issuerClient, logger: logger)
        let addresses = IssuerAddresses(configuration)
        let proofs = OAuthProofs(
            issuers: OpenIDIssuers(
                addresses: addresses,
                metadata: PublishedDocuments(client: issuerClient, logger: logger) { try IssuerMetadata($0) },
                keys: published, client: issuerClient),
            facebook: FacebookGraph(addresses: addresses, client: issuerClient), registry: engines.registry,
            logger: logger)
        let reset = PasswordReset(accounts: accounts, ends: ends, links: links, hasher: hasher, throttle: throttle)
        let signIn = SignIn(
            accounts: accounts, sessions: sessions, reset: reset, hasher: hasher, throttle: throttle, budget: budget,
            issuers: TokenIssuers(registry: engines.registry, published: published, logger: logger), proofs: proofs,
            functions: functions, metrics: metrics, logger: logger)
        let users = Users(accounts: accounts, ends: ends)
        let idle = IdleAccounts(
            users: users,
            leases: WorkLeases("idle-accounts", holder: engines.instance, client: engines.postgres),
            age: configuration[AuthKeys.idleAccounts], metrics: metrics, logger: logger)
        let support = RouteSupport(apps: engines.apps, hosting: engines.hosting, keys: keys, clock: clock)
        let address = PublicAddress(configuration)
        AuthRoutes(
            keys: keys,
            account: AccountRoutes(
                support: support, signIn: signIn,
                registration: Registration(
                    accounts: accounts, links: links, hasher: hasher, throttle: throttle, budget: budget),
                reset: reset,
                metrics: metrics,
                redirects: RedirectRoutes(
                    support: support,
                    redirects: RedirectSignIn(
                        accounts: accounts, signIn: signIn, budget: budget, proofs: proofs, logger: logger),
                    sessions: sessions, address: address), address: address, syncURL: configuration[AuthKeys.syncURL]),
            session: SessionRoutes(
                support: support, accounts: accounts, sessions: sessions, users: users, budget: budget, metrics: metrics
            ),
            push: PushRoutes(
                support: support, accounts: accounts, sessions: sessions, wakeOutbox: { pushes.wake() }),
            admin: AdminRoutes(
                access: AdminAccess(
                    tokens: AdminTokens(client: engines.postgres, clock: clock), throttle: throttle,
                    configured: configuration[AuthKeys.adminToken], clock: clock),
                store: store, clock: clock, isOn: configuration[AuthKeys.adminAPI],
                administration: { [engines] name, loop, recording in
                    Administration(
                        client: engines.postgres, keys: engines.keys, loop: loop, operator: name,
                        hosting: engines.hosting, clock: clock, wakeOutbox: { outbox.wake() }, recording: recording,
                        publish: { send in try await send(engines.events) })
                }, wakeOutbox: { audit.wake() }, budget: AuditBudget(counts: counts.counts), metrics: metrics,
                logger: logger)
        ).add(to: &context.router)
        let schemas = SchemaRequestsHandler(
            deployments: AppDeployments(
                client: engines.postgres, registry: engines.registry, loop: context.loops.next(),
                operator: AppRegistry.developmentMode, hosting: engines.hosting,
                publish: { try await $0(engines.events) }),
            producer: engines.events, clock: clock, logger: logger)
        context.http.cors = cors(engines.apps, engines.hosting)
        context.readiness.add("signing-keys") { try keys.check() }
        return [
            HashingThreads(hasher: hasher),
            engines.service(migrations: [AccountStore.migrations]) {
                try await keys.requireReadable()
                return [
                    hosts, functionLogs, keys, outbox, pushes, audit,
                    EventConsumer(
                        pool: engines.pool, group: "auth-schemas", kafka: engines.kafka, handler: schemas,
                        logger: logger),
                    AccountCleaner(
                        store: store, clock: clock, auditRetention: configuration[AuthKeys.auditRetention],
                        logger: logger),
                    idle,
                ]
            },
        ]
    }

    /// An identity provider's page posts to the callback; what that does depends on the browser's cookie, which a page of another origin
    /// doesn't send.
    private static func cors(_ apps: AppDirectory, _ hosting: HostingAddress?) -> CORSPolicy {
        var policy = CORSPolicy(apps: apps, hosting: hosting)
        let ofApps = policy.allowedOrigins
        policy.allowedOrigins = { $0.route == RedirectRoutes.callback ? .any : await ofApps($0) }
        policy.allowsCredentials = { RedirectRoutes.isCall($0) }
        policy.exposedHeaders.append(RedirectRoutes.locationHeader)
        return policy
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

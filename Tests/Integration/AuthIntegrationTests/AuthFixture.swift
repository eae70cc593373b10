import AppDefinition
import AppRegistry
import DocumentModel
import EventLoop
import EventStream
import EventTopics
import Foundation
import FunctionProtocol
import Kafka
import Metrics
import Postgres
import Secrets
import ServiceBootstrap
import ServiceEngines
import TestSupport

@testable import Auth

/// One auth service in this process, on real engines, for all tests: apps keep them apart, since everything is scoped by the app.
final class AuthFixture: Sendable {
    let engines: TestEngines
    let database: String
    let pool: String
    let server: HostedAuth
    let postgres: PostgresClient
    let registry: AppRegistry
    let mailFolder: String
    /// Stands in for Google, Apple and Facebook.
    let issuer: OpenIDIssuer
    /// Milliseconds by which the clock of `later` is ahead.
    let ahead: Locked<Int64>
    /// A second process on the same engines, whose clock can be set forward.
    let later: HostedAuth
    private let events: Locked<[AuthEvent]>
    private let producer: KafkaProducer

    static let adminToken = "admin-token-of-the-tests"
    static let keySecret = "secret of the tests"

    static func shared() async throws -> AuthFixture { try await starter.fixture() }

    private static let starter = Starter()

    private actor Starter {
        private var started: Task<AuthFixture, any Error>?

        func fixture() async throws -> AuthFixture {
            let task = started ?? Task { try await AuthFixture() }
            started = task
            return try await task.value
        }
    }

    private init() async throws {
        let engines = try await TestEngines.shared()
        let database = try await engines.makeDatabase()
        let pool = engines.makePool()
        let mailFolder = FileManager.default.temporaryDirectory.appendingPathComponent("auth-mails-\(pool)").path
        let issuer = try await OpenIDIssuer.start()
        let values = Self.values(engines, database: database, pool: pool, mailFolder: mailFolder).merging(
            [
                "auth.googleIssuer": issuer.url, "auth.appleIssuer": issuer.url, "auth.facebookURL": issuer.url,
                "auth.facebookDialogURL": issuer.url + "/authorize",
            ], uniquingKeysWith: { $1 })
        let ahead = Locked<Int64>(0)
        server = try await HostedAuth(values, functions: TestFunctions.caller, clock: .system)
        later = try await HostedAuth(
            values, functions: TestFunctions.caller,
            clock: WallClock { WallClock.system.now() + ahead.withLock { $0 } })

        let loops = LoopGroup(1)
        var configuration = PostgresConfiguration(url: database)
        configuration.connections = 2
        // The tests share them, and all begin at once.
        configuration.leaseTimeout = .seconds(60)
        let postgres = PostgresClient(configuration: configuration, on: loops)
        let events = Locked<[AuthEvent]>([])
        let tail = EventTail<AuthEvent>(pool: pool, kafka: KafkaClient(configuration: engines.kafka)) { received in
            let decoded = try received.map { try ReceivedEvent<AuthEvent>($0.message).payload }
            events.withLock { $0 += decoded }
        }
        // They run as long as the test process, which ends them by its exit.
        Task { try await postgres.run() }
        Task { try await tail.run() }
        try await tail.waitUntilPositioned()
        self.engines = engines
        self.database = database
        self.pool = pool
        self.mailFolder = mailFolder
        self.issuer = issuer
        self.ahead = ahead
        self.postgres = postgres
        self.events = events
        producer = KafkaProducer(configuration: engines.kafka, loop: loops.next())
        registry = AppRegistry(client: postgres, keys: KeyRing([Self.keySecret]))
    }

    /// A configuration file's values.
    static func values(_ engines: TestEngines, database: String, pool: String, mailFolder: String) -> [String: String] {
        [
            "http.address": "127.0.0.1", "http.port": "0", "loops": "1", "postgres.url": database,
            "redis.url": engines.redisURL, "kafka.pool": pool,
            "auth.redisPrefix": "\(pool):auth:", "admin.token": adminToken, "encryption.keys": keySecret,
            // The issuers of tests are on this machine.
            "mail.folder": mailFolder, "auth.allowPlainKeySets": "true", "egress.allow": "127.0.0.1",
            // Tests sign in often, and don't depend on the cost of password hashes.
            "auth.passwordOperations": "1", "auth.passwordMemory": "64KiB", "auth.freeAttemptsPerAddress": "100000",
            "auth.freeAttemptsPerAccount": "20",
            // Tests set the client address of their calls.
            "http.trusted-proxies": "1",
            // A clock that is ahead by more than an hour would delete what other tests need.
            "auth.refreshTokenLifetime": "40m",
        ].merging(engines.kafkaSettings) { $1 }
    }

    /// Deploys an app of its own for a test, with the provider `oidc-acme`.
    /// - Parameter redirects: The app's pages for results of sign-ins by redirects.
    func app(signingInAt issuer: OpenIDIssuer, redirects: [String]) async throws -> AppClient {
        let app = try await app { app in
            app.providers["oidc-acme"] = """
                {"name": "oidc-acme", "type": "openid-connect",
                 "config": {"issuer": "\(issuer.url)", "clientId": "\(OpenIDIssuer.client)"},
                 "secret_config": {"clientSecret": "s"}, "metadata_fields": [{"name": "email"}],
                 "redirect_uris": \(redirects)}
                """
        }
        try await registry.setSecret("s", of: app.app, to: OpenIDIssuer.secret)
        return app
    }

    /// Deploys an app of its own for a test.
    func app(_ change: (inout TestApp) -> Void = { _ in }) async throws -> AppClient {
        var app = TestApp()
        change(&app)
        let definition = try AppDefinition(files: app.files)
        try await deploy(definition)
        let client = AppClient(port: server.port, app: definition.id)
        let other = AppClient(port: later.port, app: definition.id)
        try await eventually("the app is known") {
            let status = try await client.call(.get, "location").status
            let otherStatus = try await other.call(.get, "location").status
            return status == 200 && otherStatus == 200
        }
        return client
    }

    /// Deploys a definition and announces it, as the tool does.
    @discardableResult
    func deploy(_ definition: AppDefinition) async throws -> (app: DeployedApp, isNew: Bool) {
        let deployed = try await registry.deploy(definition)
        try await AppRegistry.announce(deployed.app, with: EventProducer(producer, pool: pool))
        return deployed
    }

    /// The same app, called through the second service.
    func later(_ client: AppClient) -> AppClient { AppClient(port: later.port, app: client.app) }

    /// The kinds of the events about a user, once there are this many.
    func events(of user: String, count: Int) async throws -> [AuthEvent] {
        try await eventually("\(count) events about \(user)") {
            let found = events.withLock { $0.filter { $0.userID == user } }
            return found.count >= count ? found : nil
        }
    }

    /// Whether a user is shut out, and if so, whether permanently.
    func shutOut(_ user: String) async throws -> [Bool] {
        try await server.engines.postgres.query(
            "select is_deleted from partita.shut_out_users where user_id = $1", [.text(user)]
        ).decode(Bool.self)
    }

    /// The links of the mails to an address, in the order in which they were written.
    func mails(to address: String) throws -> [(token: String, tokenId: String)] {
        let names = (try? FileManager.default.contentsOfDirectory(atPath: mailFolder)) ?? []  // no mail yet, no folder
        return try names.sorted().compactMap { name in
            let text = try String(contentsOfFile: mailFolder + "/" + name, encoding: .utf8)
            guard text.contains("To: \(address)\n"),
                let query = text.firstMatch(of: /token=([0-9a-f]+)&tokenId=([0-9a-f]+)/)
            else { return nil }
            return (String(query.1), String(query.2))
        }
    }
}

/// Auth as its executable runs it.
final class HostedAuth: Sendable {
    let port: Int
    let routeTemplates: [String]
    let engines: ServiceEngines

    /// Returns when it is ready. It runs as long as the test process.
    init(_ values: [String: String], functions: FunctionCaller?, clock: WallClock = .system) async throws {
        let configuration = try Configuration(keys: AuthServer.main.allKeys, fileValues: values)
        let started = AsyncStream<Int>.makeStream()
        let templates = Locked<[String]>([])
        let shared = Locked<ServiceEngines?>(nil)
        Task {
            // If it can't start, the wait for its port ends.
            defer { started.continuation.finish() }
            try await AuthServer.main.run(
                configuration, registry: MetricsRegistry(), listening: { started.continuation.yield($0) }
            ) { context in
                let before = Set(context.router.templates)
                let engines = try ServiceEngines(context, usesRedis: true, usesSecrets: true, clock: clock)
                shared.withLock { $0 = engines }
                let services = try AuthServer.make(&context, engines: engines, functions: functions)
                let own = context.router.templates.filter { !before.contains($0) }
                templates.withLock { $0 = own }
                return services
            }
        }
        var ports = started.stream.makeAsyncIterator()
        guard let port = await ports.next(), let engines = shared.withLock({ $0 }) else { throw CancellationError() }
        self.port = port
        self.engines = engines
        routeTemplates = templates.withLock { $0 }
        let client = AppClient(port: port, app: "")
        try await eventually("auth is ready", within: .seconds(60), every: .milliseconds(50)) {
            try await client.send(.get, "/health/ready", nil, token: nil, headers: [:]).status == 200
        }
    }
}

/// The functions that the tests' apps name.
enum TestFunctions {
    static let calls = Locked<[(app: String, function: String, arguments: [Value])]>([])

    static let caller = FunctionCaller { app, function, arguments in
        calls.withLock { $0.append((app.id, function, arguments)) }
        switch function {
        case "succeed": return ["status": "success"]
        case "wait": return ["status": "pending"]
        case "refuse": return ["status": "fail"]
        case "waitOnce": return ["status": calls.withLock { $0.count { $0.app == app.id } } > 1 ? "fail" : "pending"]
        case "authenticate":
            if let id = arguments.first?["document"] { return id }
            guard let name = arguments.first?["name"]?.stringValue else { throw thrown }
            if name == "endless" { throw endless }
            return ["id": .string("custom-" + name), "name": .string(name)]
        case "lose": throw AuthError(.serviceUnavailable, "the function lose can't run now; try again later")
        case "overrun": throw endless
        default: throw thrown
        }
    }

    private static let thrown = FunctionFailure(code: .functionExecutionError, message: "it threw")
    private static let endless = FunctionFailure(code: .executionTimeLimitExceeded, message: "it took too long")

    /// The first argument of the last call for an app.
    static func lastArgument(app: String) -> Value? {
        calls.withLock { $0.last { $0.app == app }?.arguments.first }
    }
}

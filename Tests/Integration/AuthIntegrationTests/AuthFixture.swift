import AccessTokens
import AppDefinition
import AppRegistry
import DocumentModel
import EventLoop
import EventStream
import EventTopics
import Foundation
import HTTPServer
import Kafka
import Logging
import Postgres
import TestSupport

@testable import Auth

/// One auth service in this process, on real engines, for all tests: apps keep them apart, since everything is scoped by the app.
final class AuthFixture: Sendable {
    let configuration: AuthConfiguration
    let server: HostedAuth
    let loops: LoopGroup
    let postgres: PostgresClient
    let registry: AppRegistry
    let mailFolder: String
    /// Milliseconds by which the clock of `later` is ahead.
    let ahead = Locked<Int64>(0)
    /// A second process on the same engines, whose clock can be set forward.
    let later: HostedAuth
    private let events = Locked<[AuthEvent]>([])

    static let adminToken = "admin-token-of-the-tests"

    static func shared() async throws -> AuthFixture { try await starter.fixture() }

    private static let starter = Starter()

    private actor Starter {
        private var started: Task<AuthFixture, any Error>?

        func fixture() async throws -> AuthFixture {
            let task = started ?? Task { try await AuthFixture.start() }
            started = task
            return try await task.value
        }
    }

    private static func start() async throws -> AuthFixture {
        let engines = try await TestEngines.shared()
        let fixture = try AuthFixture(
            engines: engines, database: try await engines.makeDatabase(), pool: engines.makePool())
        let tail = EventTail<AuthEvent>(
            pool: fixture.configuration.pool,
            kafka: KafkaConfiguration(bootstrapServers: engines.kafkaBootstrap)
        ) { [events = fixture.events] received in
            let decoded = try received.map { try ReceivedEvent<AuthEvent>($0.message).payload }
            events.withLock { $0 += decoded }
        }
        // It runs as long as the test process, which ends it by its exit.
        Task { try await fixture.postgres.run() }
        try await fixture.server.start()
        Task { try await tail.run() }
        try await tail.waitUntilPositioned()
        try await fixture.later.start()
        return fixture
    }

    private init(engines: TestEngines, database: String, pool: String) throws {
        var configuration = AuthConfiguration(
            postgresURL: database, redisURL: engines.redisURL, kafkaBootstrap: engines.kafkaBootstrap)
        mailFolder = FileManager.default.temporaryDirectory.appendingPathComponent("auth-mails-\(pool)").path
        configuration.pool = pool
        configuration.redisPrefix = "\(pool):auth:"
        configuration.adminToken = Self.adminToken
        configuration.keySecret = "secret of the tests"
        configuration.mailFolder = mailFolder
        configuration.appPollInterval = .milliseconds(50)
        // Tests sign in a lot; how long a password takes isn't what they are about.
        configuration.passwordOperations = 1
        configuration.passwordMemory = 64 << 10
        configuration.freeAttemptsPerAddress = 100_000
        self.configuration = configuration
        loops = LoopGroup(2)
        var postgresConfiguration = PostgresConfiguration(url: database)
        postgresConfiguration.connections = 2
        postgres = PostgresClient(configuration: postgresConfiguration, on: loops)
        registry = AppRegistry(client: postgres)
        let schedule = SigningKeyRing.Schedule(longestToken: configuration.refreshTokenLifetime.wholeSeconds)
        server = try HostedAuth(
            AuthServer(
                configuration: configuration, functions: TestFunctions.caller, clock: .system, schedule: schedule,
                on: loops, logger: Logger(label: "auth")), loops: loops)
        later = try HostedAuth(
            AuthServer(
                configuration: configuration, functions: TestFunctions.caller,
                clock: AuthClock { [ahead] in AuthClock.system.now() + ahead.withLock { $0 } }, schedule: schedule,
                on: loops, logger: Logger(label: "auth-later")), loops: loops)
    }

    /// Deploys an app of its own for a test.
    func app(_ change: (inout TestApp) -> Void = { _ in }) async throws -> AppClient {
        var app = TestApp()
        change(&app)
        let definition = try AppDefinition(files: app.files)
        try await registry.deploy(definition)
        let client = AppClient(port: server.port, app: definition.id)
        let other = AppClient(port: later.port, app: definition.id)
        try await eventually("the app is known") {
            let status = try await client.call(.get, "location").status
            let otherStatus = try await other.call(.get, "location").status
            return status == 200 && otherStatus == 200
        }
        return client
    }

    /// The same app by the second service.
    func later(_ client: AppClient) -> AppClient { AppClient(port: later.port, app: client.app) }

    /// The kinds of the events about a user, once there are so many.
    func events(of user: String, count: Int) async throws -> [AuthEvent] {
        try await eventually("\(count) events about \(user)") {
            let found = events.withLock { $0.filter { $0.userID == user } }
            return found.count >= count ? found : nil
        }
    }

    /// The links of the mails to an address, in the order of their writing.
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

/// Auth with an HTTP server around it, as its executable has.
final class HostedAuth: Sendable {
    let auth: AuthServer
    let routeTemplates: [String]
    private let http: HTTPServer

    init(_ auth: AuthServer, loops: LoopGroup) throws {
        self.auth = auth
        var router = HTTPRouter()
        auth.addRoutes(to: &router)
        routeTemplates = router.templates
        var configuration = HTTPServerConfiguration(address: "127.0.0.1", port: 0)
        configuration.cors = auth.cors
        http = HTTPServer(configuration, router: router, loops: loops.loops)
    }

    var port: Int { http.port }

    /// Returns when everything that it needs is there. It runs as long as the test process.
    func start() async throws {
        try await http.start()
        Task { try await auth.run() }
        try await eventually("auth is ready", within: .seconds(60)) {
            do {
                for component in auth.components { try await component.check() }
                return true
            } catch {
                return false
            }
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
        case "authenticate":
            guard let name = arguments.first?["name"]?.stringValue else { throw FunctionFailure() }
            return ["id": .string("custom-" + name), "name": .string(name)]
        default: throw FunctionFailure()
        }
    }

    /// The first argument of the last call for an app.
    static func lastArgument(app: String) -> Value? {
        calls.withLock { $0.last { $0.app == app }?.arguments.first }
    }

    struct FunctionFailure: Error {}
}

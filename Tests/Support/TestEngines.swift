import ChildProcesses
import Foundation
import Kafka
import LocalEngines

/// The engines of a test run: what `PARTITA_POSTGRES_URL`, `PARTITA_REDIS_URL` and `PARTITA_KAFKA_BOOTSTRAP` name, and started
/// once per process if they name nothing; the broker is Apache Kafka if `KAFKA_HOME` names one, and the embedded development
/// broker otherwise. A missing engine fails the test that asks for it.
public struct TestEngines: Sendable {
    /// A database of the server from which others may be created.
    public let postgresURL: String
    public let redisURL: String
    /// How to reach the broker.
    public let kafka: KafkaConfiguration

    /// The engines; the first call starts them.
    public static func shared() async throws -> TestEngines { try await starter.engines() }

    private static let starter = Starter()

    private actor Starter {
        private var started: Task<TestEngines, any Error>?

        func engines() async throws -> TestEngines {
            if started == nil { started = Task { try await TestEngines.start() } }
            guard let started else { preconditionFailure("set just before") }
            return try await started.value
        }
    }

    private static func start() async throws -> TestEngines {
        let environment = CurrentEnvironment.variables
        let root = FileManager.default.temporaryDirectory.appendingPathComponent("partita-tests-\(getpid())").path
        try FileManager.default.createDirectory(atPath: root, withIntermediateDirectories: true)
        chmod(root, 0o755)
        EnginesAtExit.remember(root: root)

        async let postgres = started(environment["PARTITA_POSTGRES_URL"]) {
            let engine = PostgresEngine(root: root, port: try LocalPort.free(), isDurable: false)
            return (engine, engine.url)
        }
        async let redis = started(environment["PARTITA_REDIS_URL"]) {
            let engine = RedisEngine(root: root, port: try LocalPort.free())
            return (engine, engine.url)
        }
        async let bootstrap = started(environment["PARTITA_KAFKA_BOOTSTRAP"]) {
            try broker(root: root)
        }
        return try await TestEngines(
            postgresURL: postgres, redisURL: redis,
            kafka: KafkaConfiguration(
                bootstrapServers: bootstrap, clientID: "tests", embedded: !RealBroker.isThere))
    }

    /// A broker that isn't started yet.
    public static func broker(root: String) throws -> (engine: any Engine, bootstrap: String) {
        guard let home = RealBroker.home else {
            let engine = EmbeddedBrokerEngine(
                tool: CurrentEnvironment.sibling("partita"), root: root, port: try LocalPort.free())
            return (engine, engine.bootstrap)
        }
        let engine = KafkaEngine(
            home: home, root: root, port: try LocalPort.free(), controllerPort: try LocalPort.free())
        return (engine, engine.bootstrap)
    }

    private static func started(
        _ given: String?, _ make: () throws -> (any Engine, String)
    ) async throws -> String {
        if let given { return given }
        let (engine, address) = try make()
        try await engine.start()
        EnginesAtExit.remember(engine)
        return address
    }

    /// The broker's part of a service's configuration.
    public var kafkaSettings: [String: String] {
        ["kafka.bootstrap": kafka.bootstrapServers, "kafka.embedded": "\(kafka.embedded)"]
    }

    /// The URL of a fresh, empty database.
    public func makeDatabase() async throws -> String {
        let name = "test_" + UUID().uuidString.replacing("-", with: "").lowercased()
        let run = try await CapturedRun.run(
            "psql", [postgresURL, "-q", "-c", "create database \(name) strategy = file_copy"])
        guard run.status.isSuccess else { throw EngineError(engine: "postgres", message: run.output) }
        guard var url = URLComponents(string: postgresURL) else {
            throw EngineError(engine: "postgres", message: "bad URL \(postgresURL)")
        }
        url.path = "/" + name
        return url.string ?? postgresURL
    }

    /// A topic pool that no other test uses.
    public func makePool() -> String { "t" + UUID().uuidString.prefix(8).lowercased() }
}

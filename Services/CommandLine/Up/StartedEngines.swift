import ChildProcesses
import LocalEngines

/// The engines that `up` starts: those that no environment variable names.
struct StartedEngines: Sendable {
    var running: [any Engine] = []
    var postgresURL = ""
    var redisURL = ""
    var kafkaBootstrap = ""
    /// The broker is the embedded development broker: in memory, no admin API.
    var isEmbeddedBroker = false

    static func start(in places: Places, basePort: Int) async throws -> StartedEngines {
        let environment = CurrentEnvironment.variables
        var engines = StartedEngines()
        func start(_ engine: any Engine) async throws {
            try await Progress.step("starting \(engine.name) on port \(engine.port)") { try await engine.start() }
            engines.running.append(engine)
        }
        do {
            if let url = environment["PARTITA_POSTGRES_URL"] {
                engines.postgresURL = url
            } else {
                let engine = PostgresEngine(root: places.engines, port: basePort + 10)
                engines.postgresURL = engine.url
                try await start(engine)
            }
            if let url = environment["PARTITA_REDIS_URL"] {
                engines.redisURL = url
            } else {
                let engine = RedisEngine(root: places.engines, port: basePort + 11)
                engines.redisURL = engine.url
                try await start(engine)
            }
            if let bootstrap = environment["PARTITA_KAFKA_BOOTSTRAP"] {
                engines.kafkaBootstrap = bootstrap
            } else if let home = environment["KAFKA_HOME"], !home.isEmpty {
                let engine = KafkaEngine(
                    home: home, root: places.engines, port: basePort + 12, controllerPort: basePort + 13)
                engines.kafkaBootstrap = engine.bootstrap
                try await start(engine)
            } else {
                let engine = EmbeddedBrokerEngine(
                    tool: CurrentEnvironment.sibling("partita"), root: places.engines, port: basePort + 12)
                engines.kafkaBootstrap = engine.bootstrap
                engines.isEmbeddedBroker = true
                try await start(engine)
                Progress.line("  the embedded development broker keeps events in memory; for a real one set KAFKA_HOME or PARTITA_KAFKA_BOOTSTRAP")
            }
            return engines
        } catch {
            await engines.stop()
            throw error
        }
    }

    func stop() async {
        for engine in running.reversed() { await engine.stop() }
    }
}

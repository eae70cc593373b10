import ChildProcesses
import EventLoop
import LocalEngines

/// The engines that `up` starts: those that no environment variable names.
struct StartedEngines: Sendable {
    var running: [any Engine] = []
    var postgresURL = ""
    var redisURL = ""
    var kafkaBootstrap = ""
    /// Whether the broker is the embedded development broker, which works in memory and has no admin API.
    var isEmbeddedBroker = false

    /// - Parameter isDurable: whether Postgres syncs to disk; `false` for tests that don't simulate the crash of a
    ///   machine.
    static func start(in places: Places, basePort: Int, isDurable: Bool = true) async throws -> StartedEngines {
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
                let engine = PostgresEngine(root: places.engines, port: basePort + 10, isDurable: isDurable) {
                    Progress.line("  " + $0)
                }
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
                engines.isEmbeddedBroker = environment["PARTITA_KAFKA_EMBEDDED"] == "true"
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
                Progress.line(
                    "  the embedded development broker keeps events in memory; for a real one set KAFKA_HOME or PARTITA_KAFKA_BOOTSTRAP"
                )
            }
            return engines
        } catch {
            await engines.stop()
            throw error
        }
    }

    /// Starts an engine again when it ends by itself, until the task is cancelled.
    func keepRunning() async {
        await withTaskGroup { group in
            for engine in running {
                group.addTask {
                    while true {
                        await engine.waitForExit()
                        if Task.isCancelled { return }
                        Progress.line("\(engine.name) ended; starting it again. Its log: \(engine.logFile)")
                        await Self.restart(engine)
                    }
                }
            }
        }
    }

    /// The backends of a killed Postgres keep running for seconds and hold the data directory; the start fails until
    /// they end.
    private static func restart(_ engine: any Engine) async {
        var failures = FailureChanges()
        while !Task.isCancelled {
            do {
                return try await engine.start()
            } catch {
                if failures.isNew(error.message) {
                    Progress.line("\(error.engine) can't be started yet: \(error.message.prefix(200))")
                }
            }
            try? await Task.sleep(for: .milliseconds(500))  // cancelled: the loop's condition ends it
        }
    }

    func stop() async {
        for engine in running.reversed() { await engine.stop() }
    }
}

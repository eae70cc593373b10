import Foundation

/// `partita engines`: only the engines, for tests and benchmarks that share them.
enum EnginesCommand {
    static let command = Command(
        name: "engines", summary: "Run only Postgres, Redis and a broker, until Ctrl-C",
        options: [
            .init("data", value: "DIR", "their data directory"),
            .init("port", value: "PORT", "the first of their ports"),
            .init("environment", value: "FILE", "where to write the variables with their addresses, when they are up"),
            .init("fast", "don't sync Postgres' writes to disk, for tests"),
        ], isHidden: true
    ) { arguments in
        let signals = StopSignals()
        let places = Places(data: arguments.value("data"))
        try await SystemLock.hold(places) {
            let engines = try await StartedEngines.start(
                in: places, basePort: try arguments.int("port", in: 1024...65000) ?? 8080,
                isDurable: !arguments.has("fast")
            )
            if let file = arguments.value("environment") {
                let variables = [
                    "PARTITA_POSTGRES_URL": engines.postgresURL, "PARTITA_REDIS_URL": engines.redisURL,
                    "PARTITA_KAFKA_BOOTSTRAP": engines.kafkaBootstrap,
                    "PARTITA_KAFKA_EMBEDDED": "\(engines.isEmbeddedBroker)",
                ]
                let text = variables.sorted { $0.key < $1.key }.map { "\($0.key)=\($0.value)\n" }.joined()
                try text.write(toFile: file, atomically: true, encoding: .utf8)
            }
            await signals.wait()
            await engines.stop()
        }
    }
}

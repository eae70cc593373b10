import AppRegistry
import DocumentStore
import EventStream
import Kafka
import LocalEngines
import Postgres

/// `partita setup`: tables and topics.
enum SetupCommand {
    static let command = Command(
        name: "setup", summary: "Make tables and topics that are missing; services do it at their start as well",
        options: [LocalConfiguration.option]
    ) { arguments in
        try await setUp(try LocalConfiguration(arguments: arguments))
    }

    /// - Throws: `EngineError` that says which engine doesn't answer, and why.
    static func setUp(_ configuration: LocalConfiguration) async throws {
        do {
            try await Tool.run(configuration) { tool in
                try await tool.registry.migrate()
                for migrations in [DocumentStoreMigrations.migrations, HandledEvents.migrations] {
                    try await migrations.apply(on: tool.postgres)
                }
                try await TopicOwner.createAll(pool: tool.pool, on: KafkaAdmin(configuration: tool.kafka))
            }
        } catch let error as PostgresError {
            // What libpq says of a connection names host and port, and no password.
            let reason = ((error.underlyingError as? PostgresError)?.message ?? error.message).prefix { $0 != "\n" }
            throw EngineError(engine: "postgres", message: "\(reason) (postgres.url, PARTITA_POSTGRES_URL)")
        } catch let error as KafkaError {
            throw EngineError(
                engine: "kafka",
                message:
                    "\(configuration.kafkaBootstrap): \(error.message) (kafka.bootstrap, PARTITA_KAFKA_BOOTSTRAP)")
        }
    }
}

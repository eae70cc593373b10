import AppRegistry
import DocumentStore
import EventStream
import Kafka

/// `partita setup`: tables and topics.
enum SetupCommand {
    static let command = Command(
        name: "setup", summary: "Make tables and topics that are missing; services do it at their start as well",
        options: [LocalConfiguration.option]
    ) { arguments in
        try await setUp(try LocalConfiguration(arguments: arguments))
    }

    /// - Throws: `ToolError` that says which engine doesn't answer, and why.
    static func setUp(_ configuration: LocalConfiguration) async throws {
        try await Tool.run(configuration) { tool in
            try await tool.registry.migrate()
            for migrations in [DocumentStore.migrations, HandledEvents.migrations] {
                try await migrations.apply(on: tool.postgres)
            }
            // Somebody waits in front of the screen.
            try await TopicOwner.createAll(
                pool: tool.pool, on: KafkaAdmin(configuration: tool.kafka), replicationFactor: tool.replication,
                timeout: .seconds(30))
        }
    }
}

import AppRegistry
import DocumentStore
import EventStream
import Kafka

/// `partita setup`: tables and topics.
enum SetupCommand {
    static let command = Command(
        name: "setup", summary: "Create missing tables and topics; services also do this at their start",
        options: [LocalConfiguration.option]
    ) { arguments in
        try await setUp(try LocalConfiguration(arguments: arguments))
    }

    /// - Throws: `ToolError` that says which engine failed, and why.
    static func setUp(_ configuration: LocalConfiguration) async throws {
        try await Tool.run(configuration) { tool in
            try await tool.registry.migrate()
            for migrations in [DocumentStore.migrations, HandledEvents.migrations] {
                try await migrations.apply(on: tool.postgres)
            }
            // The timeout is short, since a user waits for the result.
            try await TopicOwner.createAll(
                pool: tool.pool, on: KafkaAdmin(configuration: tool.kafka), replicationFactor: tool.replication,
                timeout: .seconds(30))
        }
    }
}

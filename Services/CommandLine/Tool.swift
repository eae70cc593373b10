import AppRegistry
import DocumentStore
import EventLoop
import EventStream
import Kafka
import Lifecycle
import Logging
import Postgres

/// The tool's own way to the engines: who can reach Postgres is the administrator.
struct Tool: Sendable {
    let postgres: PostgresClient
    let kafka: KafkaConfiguration
    let pool: String
    let registry: AppRegistry
    let loops: LoopGroup

    /// Runs `body` with clients that are closed afterwards.
    static func run<R: Sendable>(
        _ configuration: LocalConfiguration, _ body: @Sendable (Tool) async throws -> R
    ) async throws -> R {
        LoggingSystem.bootstrap(level: .error, format: .text)
        let loops = LoopGroup(1)
        var settings = PostgresConfiguration(url: configuration.postgresURL)
        settings.connections = 2
        settings.applicationName = "partita"
        return try await PostgresClient.withClient(settings, on: loops) { client in
            let tool = Tool(
                postgres: client,
                kafka: KafkaConfiguration(
                    bootstrapServers: configuration.kafkaBootstrap, clientID: "partita",
                    embedded: configuration.isEmbeddedBroker),
                pool: configuration.pool, registry: AppRegistry(client: client), loops: loops)
            return try await body(tool)
        }
    }

    /// Sends events with a producer that is closed afterwards.
    func withProducer<R: Sendable>(_ body: @Sendable (EventProducer) async throws -> R) async throws -> R {
        let producer = KafkaProducer(configuration: kafka, loop: loops.next())
        do {
            let result = try await body(EventProducer(producer, pool: pool))
            await producer.close()
            return result
        } catch {
            await producer.close()
            throw error
        }
    }
}

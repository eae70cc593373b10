public import EventStream
import EventTopics
public import Kafka
public import Lifecycle
import Logging

extension AppDirectory {
    /// The service that reads the topic `app-definitions` and makes this directory load new versions. It runs beside the directory;
    /// if the topic loses a message, the directory's poll finds the version.
    public func announcements(pool: String, kafka: KafkaClient) -> some Service {
        StateReader<AppDefinitionEvent>(pool: pool, kafka: kafka) { [weak self] _ in self?.announce() }
    }
}

extension AppRegistry {
    /// Publishes the deployed version on the topic `app-definitions`, so that services load it immediately. Call it after `deploy`,
    /// and for every app when a broker may have lost its messages.
    ///
    /// - Throws: `KafkaError`. The deployment is valid nevertheless: services find it with their next poll.
    public static func announce(_ app: DeployedApp, with producer: EventProducer) async throws {
        try await producer.send(AppDefinitionEvent(app: app.id, version: app.version, time: app.deployedAt))
    }
}

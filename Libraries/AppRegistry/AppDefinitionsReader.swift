public import EventStream
import EventTopics
public import Kafka
public import Lifecycle
import Logging

extension AppDirectory {
    /// The service that reads the topic `app-definitions` and lets this directory look at each deployment. It runs beside the
    /// directory; when its topic loses a message, the directory's poll finds the version.
    public func announcements(pool: String, kafka: KafkaClient) -> some Service {
        StateReader<AppDefinitionEvent>(pool: pool, kafka: kafka) { [weak self] _ in self?.announce() }
    }
}

extension AppRegistry {
    /// Says on the topic `app-definitions` which version is deployed, so that services load it at once. Called after `deploy`, and
    /// for every app when a broker may have forgotten.
    ///
    /// - Throws: `KafkaError`. The deployment stands nevertheless: services find it at their next poll.
    public static func announce(_ app: DeployedApp, with producer: EventProducer) async throws {
        try await producer.send(AppDefinitionEvent(app: app.id, version: app.version, time: app.deployedAt))
    }
}

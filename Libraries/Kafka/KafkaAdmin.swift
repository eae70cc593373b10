import EventLoop
import Logging

/// Creates and deletes topics, and queries their metadata. It has a thread of its own, since these calls block.
public actor KafkaAdmin {
    private let executor = ThreadExecutor(name: "kafka-admin")
    private let client: KafkaClient
    private let logger: Logger

    public nonisolated var unownedExecutor: UnownedSerialExecutor { executor.asUnownedSerialExecutor() }

    /// Uses a client that readers use as well.
    public init(client: KafkaClient, logger: Logger = Logger(label: "kafka.admin")) {
        self.client = client
        self.logger = logger
    }

    /// Uses a client of its own, which connects with the first call.
    public init(configuration: KafkaConfiguration, logger: Logger = Logger(label: "kafka.admin")) {
        self.init(client: KafkaClient(configuration: configuration, logger: logger), logger: logger)
    }

    deinit { executor.stop() }

    /// Creates those topics that don't exist, and returns when every partition of all of them has a leader. Several processes may
    /// call it concurrently, and it may be repeated.
    ///
    /// The embedded broker has no admin API: there a topic is created by a query for its metadata, with the default number of
    /// partitions, unless the broker's host created it before (`EmbeddedBroker.createTopic`).
    /// - Throws: `partitionCount` when a topic exists with a different number of partitions (not on the embedded broker);
    ///   `timedOut` or `unreachable` when it doesn't succeed within `timeout`; otherwise the broker's error.
    public func createTopics(_ topics: [KafkaTopic], timeout: Duration = .seconds(30)) async throws(KafkaError) {
        let deadline = ContinuousClock.now + timeout
        let admin = try start()
        if !client.configuration.embedded {
            try await retrying(until: deadline) { () throws(KafkaError) in
                // Who may only read and write gets along with topics that were made before.
                let there = try admin.topicNames(timeout: .seconds(5))
                let missing = topics.filter { topic in
                    !there.contains { $0.utf8.elementsEqual(topic.name.utf8) }
                }
                guard !missing.isEmpty else { return }
                let errors = try admin.create(missing, timeout: min(.seconds(10), timeout))
                guard let (_, error) = errors.min(by: { $0.key < $1.key }) else { return }
                guard error.code == .unauthorized else { throw error }
                throw KafkaError(
                    .unauthorized,
                    "\(error.message) (the topic doesn't exist, and the user of Kafka may not create it)",
                    nativeCode: error.nativeCode, isRetriable: true)
            }
        }
        for topic in topics {
            let found = try await retrying(until: deadline) { () throws(KafkaError) in
                let found = try admin.metadata(topic.name, timeout: .seconds(5))
                guard found.leaderless.isEmpty, !found.partitions.isEmpty else {
                    throw KafkaError(.timedOut, "\(topic.name): \(found.leaderless) have no leader", isRetriable: true)
                }
                return found
            }
            if let wanted = topic.replicationFactor, found.copies < wanted, !client.configuration.embedded {
                logger.warning(
                    "an existing topic has fewer replicas than configured",
                    metadata: ["kafka.topic": "\(topic.name)", "copies": "\(found.copies)", "wanted": "\(wanted)"])
            }
            guard found.partitions.count != topic.partitions else { continue }
            let message = "\(topic.name) has \(found.partitions.count) partitions, not \(topic.partitions)"
            guard client.configuration.embedded else { throw KafkaError(.partitionCount, message) }
            logger.debug("another number of partitions than declared", metadata: ["kafka.topic": "\(topic.name)"])
        }
        // At last, since whoever waits for the topics calls this again and again.
        compareSettings(of: topics, with: admin)
    }

    /// Warns of topics that somebody else has made in a way in which they lose messages that are needed.
    private func compareSettings(of topics: [KafkaTopic], with admin: RDKafkaAdmin) {
        guard !client.configuration.embedded else { return }
        let found: [String: [String: String]]
        do {
            found = try admin.settings(of: topics.map(\.name), timeout: .seconds(5))
        } catch {
            // It needs a right of its own, and the services don't depend on it.
            return logger.debug("the settings of topics can't be read", metadata: ["error": "\(error.message)"])
        }
        for topic in topics {
            guard let settings = found[topic.name] else { continue }
            for (name, wanted) in topic.configuration.sorted(by: { $0.key < $1.key }) {
                guard let present = settings[name], Self.loses(name, present, wanted) else { continue }
                logger.warning(
                    "an existing topic has a setting with which messages are lost; change it, or delete the topic",
                    metadata: [
                        "kafka.topic": "\(topic.name)", "setting": "\(name)", "value": "\(present)",
                        "wanted": "\(wanted)",
                    ])
            }
        }
    }

    private static func loses(_ name: String, _ present: String, _ wanted: String) -> Bool {
        switch name {
        case "cleanup.policy": !present.utf8.elementsEqual(wanted.utf8)
        // -1 is without a limit.
        case "retention.ms": Int64(present).map { $0 >= 0 && $0 < Int64(wanted) ?? 0 } ?? false
        default: false
        }
    }

    /// Deletes topics; those that don't exist are skipped. On the embedded broker, which can't delete topics, it does nothing.
    public func deleteTopics(_ names: [String], timeout: Duration = .seconds(30)) async throws(KafkaError) {
        guard !client.configuration.embedded, !names.isEmpty else { return }
        let errors = try start().delete(names, timeout: timeout)
        if let (_, error) = errors.min(by: { $0.key < $1.key }) { throw error }
    }

    /// Queries the brokers for a topic's metadata.
    /// - Throws: `unknownTopic` when it does not exist, `unreachable` or `timedOut` when no broker answers.
    public func metadata(_ topic: String, timeout: Duration = .seconds(5)) async throws(KafkaError)
        -> KafkaTopicMetadata
    {
        try start().metadata(topic, timeout: timeout)
    }

    /// Queries the brokers for the names of all topics.
    /// - Throws: `unreachable` or `timedOut` when no broker answers.
    public func topicNames(timeout: Duration = .seconds(5)) async throws(KafkaError) -> [String] {
        try start().topicNames(timeout: timeout)
    }

    /// Closes the client. Later calls throw `closed`.
    public func close() async { await client.close() }

    private func start() throws(KafkaError) -> RDKafkaAdmin { RDKafkaAdmin(handle: try client.native().asking) }

    private func retrying<R: Sendable>(
        until deadline: ContinuousClock.Instant, _ body: () throws(KafkaError) -> R
    ) async throws(KafkaError) -> R {
        while true {
            do { return try body() } catch {
                // What an operator has to change is said at once.
                guard error.isRetriable, error.code != .unauthorized, ContinuousClock.now < deadline else {
                    throw error
                }
                logger.debug("trying again", metadata: ["error": "\(error.message)"])
                do { try await Task.sleep(for: .milliseconds(50)) } catch { throw KafkaError(.timedOut, "cancelled") }
            }
        }
    }
}

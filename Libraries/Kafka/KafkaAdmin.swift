import EventLoop
import Logging

/// Creates topics and asks about them. It has a thread of its own, since these calls block.
public actor KafkaAdmin {
    private let executor = ThreadExecutor(name: "kafka-admin")
    private let client: KafkaClient
    private let logger: Logger

    public nonisolated var unownedExecutor: UnownedSerialExecutor { executor.asUnownedSerialExecutor() }

    /// Asks through a client that readers use as well.
    public init(client: KafkaClient, logger: Logger = Logger(label: "kafka.admin")) {
        self.client = client
        self.logger = logger
    }

    /// Asks through a client of its own, which connects with the first call.
    public init(configuration: KafkaConfiguration, logger: Logger = Logger(label: "kafka.admin")) {
        self.init(client: KafkaClient(configuration: configuration, logger: logger), logger: logger)
    }

    deinit { executor.stop() }

    /// Creates those topics that don't exist, and returns when every partition of all of them has a leader. May be called by
    /// several processes at once, and again.
    ///
    /// On the embedded broker, which has no admin API, topics are made by asking for them; they have its default number of
    /// partitions, unless who hosts it made them before (`EmbeddedBroker.createTopic`).
    /// - Throws: `partitionCount` when a topic exists with another number of partitions than wanted (not on the embedded broker);
    ///   `timedOut` or `unreachable` when that is not reached in `timeout`; what the broker says otherwise.
    public func createTopics(_ topics: [KafkaTopic], timeout: Duration = .seconds(30)) async throws(KafkaError) {
        let deadline = ContinuousClock.now + timeout
        let admin = try start()
        if !client.configuration.embedded {
            try await retrying(until: deadline) { () throws(KafkaError) in
                let errors = try admin.create(topics, timeout: min(.seconds(10), timeout))
                if let (_, error) = errors.min(by: { $0.key < $1.key }) { throw error }
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
                    "a topic that exists has fewer copies than wanted",
                    metadata: ["kafka.topic": "\(topic.name)", "copies": "\(found.copies)", "wanted": "\(wanted)"])
            }
            guard found.partitions.count != topic.partitions else { continue }
            let message = "\(topic.name) has \(found.partitions.count) partitions, not \(topic.partitions)"
            guard client.configuration.embedded else { throw KafkaError(.partitionCount, message) }
            logger.debug("another number of partitions than declared", metadata: ["kafka.topic": "\(topic.name)"])
        }
    }

    /// Deletes topics; those that don't exist are no error. The embedded broker can't: nothing happens there.
    public func deleteTopics(_ names: [String], timeout: Duration = .seconds(30)) async throws(KafkaError) {
        guard !client.configuration.embedded, !names.isEmpty else { return }
        let errors = try start().delete(names, timeout: timeout)
        if let (_, error) = errors.min(by: { $0.key < $1.key }) { throw error }
    }

    /// Asks the brokers about a topic.
    /// - Throws: `unknownTopic` when it does not exist, `unreachable` or `timedOut` when no broker answers.
    public func metadata(_ topic: String, timeout: Duration = .seconds(5)) async throws(KafkaError)
        -> KafkaTopicMetadata
    {
        try start().metadata(topic, timeout: timeout)
    }

    /// Asks the brokers which topics there are.
    /// - Throws: `unreachable` or `timedOut` when no broker answers.
    public func topicNames(timeout: Duration = .seconds(5)) async throws(KafkaError) -> [String] {
        try start().topicNames(timeout: timeout)
    }

    /// Ends the client; it throws `closed` from then on.
    public func close() async { await client.close() }

    private func start() throws(KafkaError) -> RDKafkaAdmin { RDKafkaAdmin(handle: try client.native().asking) }

    private func retrying<R: Sendable>(
        until deadline: ContinuousClock.Instant, _ body: () throws(KafkaError) -> R
    ) async throws(KafkaError) -> R {
        while true {
            do { return try body() } catch {
                guard error.isRetriable, ContinuousClock.now < deadline else { throw error }
                logger.debug("trying again", metadata: ["error": "\(error.message)"])
                do { try await Task.sleep(for: .milliseconds(50)) } catch { throw KafkaError(.timedOut, "cancelled") }
            }
        }
    }
}

import EventLoop
import EventStream
import EventTopics
import Kafka

/// Empties the topics of a pool after a restore, since they have events that the database has lost. With a topic, the broker
/// deletes the offsets of its consumer groups. The services fill the compacted topics from Postgres at their start (signing keys,
/// app definitions, grants), and consumers find what they haven't handled in Postgres.
struct BrokerReset: Sendable {
    private let admin: KafkaAdmin
    private let pool: String
    private let replication: Int?
    /// An embedded broker is emptied by restarting it, and has no admin API.
    private let isEmbedded: Bool

    init(_ tool: Tool) {
        admin = KafkaAdmin(configuration: tool.kafka)
        pool = tool.pool
        replication = tool.replication
        isEmbedded = tool.kafka.embedded
    }

    private var names: [String] { TopicOwner.topics(pool: pool).map(\.name) }

    /// - Throws: `KafkaError` when the broker doesn't answer, so that a restore fails before it changes the database.
    func check() async throws {
        if let name = names.first { _ = try await hasTopic(name) }
    }

    /// Deletes the topics and creates them again.
    func run() async throws {
        if isEmbedded {
            Progress.line("  the embedded broker loses its topics when it ends: restart it")
        } else {
            try await admin.deleteTopics(names)
            for name in names { try await waitUntilGone(name) }
            try await TopicOwner.createAll(pool: pool, on: admin, replicationFactor: replication)
        }
        await admin.close()
    }

    /// A broker deletes topics in the background, and a topic can't be created while it is being deleted.
    private func waitUntilGone(_ name: String) async throws {
        let deadline = ContinuousClock.now + .seconds(60)
        var backoff = RetryBackoff(.reconnecting)
        while try await hasTopic(name) {
            guard ContinuousClock.now < deadline else {
                throw ToolError(
                    "the database is restored, but the broker still has the topic \(name): delete the topics of the pool before the services start"
                )
            }
            try await Task.sleep(for: backoff.next())
        }
    }

    private func hasTopic(_ name: String) async throws -> Bool {
        do {
            _ = try await admin.metadata(name)
            return true
        } catch {
            guard error.code == .unknownTopic else { throw error }
            return false
        }
    }
}

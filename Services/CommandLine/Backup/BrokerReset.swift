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

    /// Deletes the topics and creates them again. What may pass, as a broker that is restarted, is tried again for two minutes.
    func run() async throws {
        if isEmbedded {
            Progress.line("  the embedded broker loses its topics when it ends: restart it")
        } else {
            let deadline = ContinuousClock.now + .seconds(120)
            try await retrying(until: deadline) { try await admin.deleteTopics(names) }
            for name in names {
                // A broker deletes topics in the background, and a topic can't be created while it is being deleted.
                try await retrying(until: deadline) {
                    guard try await hasTopic(name) else { return }
                    throw KafkaError(.timedOut, "it still has the topic \(name)", isRetriable: true)
                }
            }
            try await TopicOwner.createAll(pool: pool, on: admin, replicationFactor: replication)
        }
        await admin.close()
    }

    private func retrying(until deadline: ContinuousClock.Instant, _ body: () async throws -> Void) async throws {
        var backoff = RetryBackoff(.reconnecting)
        while true {
            do {
                return try await body()
            } catch let error as KafkaError
                where error.isRetriable && error.code != .unauthorized && ContinuousClock.now < deadline
            {
                try await Task.sleep(for: backoff.next())
            }
        }
    }

    /// What an operator has to do if this failed.
    func remedy(_ error: any Error) -> String {
        let right =
            (error as? KafkaError)?.code == .unauthorized ? "; for that, the user of Kafka needs the right DELETE" : ""
        return """
            the topics partita.\(pool).* of the broker couldn't be emptied (\((error as? KafkaError)?.message ?? "\(error)")): delete them, \
            or run the restore again\(right)
            """
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

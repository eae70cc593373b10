import EventLoop
import EventStream
import Kafka
import Lifecycle
import Logging

/// Checks that the pool's topics exist as long as a service runs. A deleted topic, or a broker that comes back without its topics,
/// would otherwise stop all services without a visible reason.
///
/// Every service checks; the one that owns the topics creates them again, and publishes the events that their readers depend on.
/// The rest of a topic's content needn't be restored: changes, grants and apps are in Postgres and are read from there.
final class TopicKeeper: Service {
    private let pool: String
    private let admin: KafkaAdmin
    private let replication: Int?
    private let interval: Duration
    private let logger: Logger

    private struct State {
        var problem: String?
        /// Called when the owner has created topics again.
        var onMade: (@Sendable () -> Void)?
        var reported = FailureChanges()
    }
    private let state = Locked(State())

    init(
        pool: String, admin: KafkaAdmin, replication: Int?, interval: Duration = .seconds(10), logger: Logger
    ) {
        self.pool = pool
        self.admin = admin
        self.replication = replication
        self.interval = interval
        self.logger = logger
    }

    /// Makes this service the topics' owner.
    func own(_ onMade: @escaping @Sendable () -> Void) { state.withLock { $0.onMade = onMade } }

    private struct Problem: Error, CustomStringConvertible {
        let description: String
    }

    /// - Throws: the problem that the last check of the topics found.
    func check() throws {
        if let problem = state.withLock({ $0.problem }) { throw Problem(description: problem) }
    }

    func run() async throws {
        try? await cancelWhenGracefulShutdown {  // ends by cancellation only
            while !Task.isCancelled {
                try await Task.sleep(for: self.interval)
                await self.look()
            }
        }
    }

    private func look() async {
        let missing: [String]
        do {
            missing = try await missingTopics()
        } catch {
            // Brokers that don't answer are reported by another component (`kafka`).
            return logger.debug("the topics can't be checked", metadata: ["error": "\(error)"])
        }
        guard !missing.isEmpty else { return note(nil) }
        let names = missing.joined(separator: ", ")
        guard let onMade = state.withLock({ $0.onMade }) else {
            return note("topics are missing, auth creates them again: \(names)")
        }
        note("topics are missing: \(names)")
        do {
            try await TopicOwner.createAll(
                pool: pool, on: admin, replicationFactor: replication, timeout: .seconds(5))
            onMade()
            note(nil)
        } catch {
            note("topics are missing, and can't be created again: \(names): \(error)")
        }
    }

    /// - Throws: `KafkaError`.
    private func missingTopics() async throws -> [String] {
        let there = Set(texts: try await admin.topicNames(timeout: .seconds(2)))
        return TopicOwner.topics(pool: pool).map(\.name).filter { !there.contains($0) }
    }

    private func note(_ problem: String?) {
        let (isNew, isOver) = state.withLock { state in
            state.problem = problem
            guard let problem else { return (false, state.reported.recovered()) }
            return (state.reported.isNew(problem), false)
        }
        if isNew, let problem { logger.error("\(problem)") }
        if isOver { logger.notice("the topics exist again, without their former content") }
    }
}

import EventLoop
import EventStream
import EventTopics
import Lifecycle
import Logging
import Postgres

/// Brings committed grants to the topic: at once when they come from this process, and otherwise, after a crash, when it finds them
/// in the outbox.
final class GrantRelay: Service {
    private let client: PostgresClient
    private let producer: EventProducer
    private let fenceAlarm: Alarm
    private let logger: Logger
    private let queue: AsyncStream<Grant>
    private let input: AsyncStream<Grant>.Continuation

    /// How often the outbox is looked through for what was left behind.
    private static let sweepInterval = Duration.seconds(2)

    /// - Parameter fenceAlarm: set when the topic has a revocation.
    init(client: PostgresClient, producer: EventProducer, fenceAlarm: Alarm, logger: Logger) {
        self.client = client
        self.producer = producer
        self.fenceAlarm = fenceAlarm
        self.logger = logger
        // What doesn't fit is in the outbox, and comes with the next sweep.
        (queue, input) = AsyncStream.makeStream(bufferingPolicy: .bufferingNewest(10_000))
    }

    func publish(_ grant: Grant) { input.yield(grant) }

    /// Tells those who wait for an answer no, and leaves nothing of it in the topic.
    func deny(_ denial: Grant) async throws {
        try await producer.send(GrantsEvent.grant(denial))
        try await remove([Subject(app: denial.app, user: denial.user, partition: denial.partition)])
    }

    /// Removes what the topic has of pairs that have no grant.
    func remove(_ subjects: [Subject]) async throws {
        for subject in subjects {
            try await producer.remove(key: subject.key, from: GrantsEvent.topic)
            // One that was committed and published meanwhile went with it.
            try await GrantTable(client: client).publishAgain(subject)
        }
    }

    func run() async throws {
        try? await cancelWhenGracefulShutdown { [self] in  // ends by cancellation only
            await withTaskGroup { group in
                group.addTask { await self.publishAsTheyCome() }
                group.addTask { await self.sweep() }
            }
        }
    }

    private func publishAsTheyCome() async {
        for await grant in queue { await publish([grant]) }
    }

    private func sweep() async {
        while !Task.isCancelled {
            do {
                let left = try await GrantTable(client: client).unpublished(limit: 1000)
                if !left.isEmpty { await publish(left) }
            } catch {
                logger.debug("the outbox of grants can't be read", metadata: ["error": "\(error)"])
            }
            try? await Task.sleep(for: Self.sweepInterval)  // cancelled: the loop's condition ends it
        }
    }

    private func publish(_ grants: [Grant]) async {
        do {
            try await producer.send(grants.map { GrantsEvent.grant($0) }).requireAll()
            try await FenceTable(client: client).published(grants)
            if grants.contains(where: \.isFence) { fenceAlarm.set() }
            try await GrantTable(client: client).published(grants)
        } catch {
            logger.warning(
                "grants stay in the outbox for now", metadata: ["count": "\(grants.count)", "error": "\(error)"])
        }
    }
}

import EventLoop
import EventStream
import EventTopics
import Lifecycle
import Logging
import Presence

/// Publishes that devices have come, beside the renewal of leases: while Kafka hangs for longer than a lease lasts, no connected device may
/// lose its lease.
final class FlipPublisher: Sendable {
    private let leases: PresenceLeases
    private let producer: EventProducer
    private let report: FailureReport
    /// The newest flip of each device; there are no more than connected devices.
    private let waiting = Locked<[PresenceMember: PresenceFlip]>([:])
    private let wakes: AsyncStream<Void>
    private let wake: AsyncStream<Void>.Continuation

    init(leases: PresenceLeases, producer: EventProducer, logger: Logger) {
        self.leases = leases
        self.producer = producer
        report = FailureReport("presence-flips", logger: logger)
        // One pending wake-up is enough.
        (wakes, wake) = AsyncStream.makeStream(bufferingPolicy: .bufferingNewest(1))
    }

    /// Adds flips that are published soon. One whose publication fails is forgotten: the renewal of its lease returns it again.
    func publish(_ flips: [PresenceFlip]) {
        if flips.isEmpty { return }
        waiting.withLock { waiting in
            for flip in flips where waiting[flip.member].map({ $0.version < flip.version }) ?? true {
                waiting[flip.member] = flip
            }
        }
        wake.yield()
    }

    /// Publishes until ``finish()``.
    /// - Parameter onPublished: called with flips when Kafka has them.
    func run(onPublished: ([PresenceFlip]) -> Void) async {
        for await _ in wakes {
            let flips = waiting.withLock { waiting in
                defer { waiting = [:] }
                return Array(waiting.values)
            }
            do {
                try await producer.send(flips.map { PresenceEvent($0) }).requireAll()
                onPublished(flips)
                try await leases.told(flips.map(\.member))
                report.succeeded("users who come are published again")
            } catch {
                report.failed("users who came aren't published now", error, metadata: ["count": "\(flips.count)"])
            }
        }
    }

    /// Ends ``run()`` after what waits now.
    func finish() { wake.finish() }
}

import EventLoop
import EventStream
import EventTopics
import Kafka
import Lifecycle
import Logging

/// Brings streams that continue from earlier positions to the present: it reads a part of the topic once for all of them.
///
/// A stream whose client reads slowly delays no other: when its queue is full, it leaves the reading, and takes part in a later one.
final class WatchResumption: Service {
    private struct Waiting {
        let watch: Watch
        var from: WatchPosition
        /// When it ends if it can't go on.
        let deadline: ContinuousClock.Instant
    }

    /// How long a client may need for half of its queue, and how long the brokers may be away.
    private static let patience = Duration.seconds(30)
    /// The messages a second that are read on average, so that clients can't keep a worker from its other work.
    private static let rate = 200_000.0

    private let watches: Watches
    private let feed: WatchFeed
    private let limit: Int
    private let logger: Logger
    private let open: @Sendable () throws(KafkaError) -> TopicRange<DocumentChangesEvent>
    private let waiting = Locked<[Waiting]>([])
    private let alarm = Alarm()

    /// - Parameter limit: the number of messages that may be between a position and the topic's end.
    init(
        watches: Watches, feed: WatchFeed, limit: Int, logger: Logger,
        open: @escaping @Sendable () throws(KafkaError) -> TopicRange<DocumentChangesEvent>
    ) {
        self.watches = watches
        self.feed = feed
        self.limit = limit
        self.logger = logger
        self.open = open
    }

    /// Makes a stream have the changes from a position on. Its queue must hold back what is new since before the call.
    func resume(_ watch: Watch, from: WatchPosition) { add([(watch, from)]) }

    func run() async throws {
        do {
            try await cancelWhenGracefulShutdown {
                while true {
                    try await self.alarm.ring()
                    let ready = self.ready()
                    if !ready.isEmpty { try await self.read(for: ready) }
                }
            }
        } catch is CancellationError {
            // It ends by cancellation.
        }
    }

    private func add(_ streams: [(watch: Watch, from: WatchPosition)]) {
        if streams.isEmpty { return }
        let deadline = ContinuousClock.now + Self.patience
        waiting.withLock { waiting in
            waiting += streams.map { Waiting(watch: $0.watch, from: $0.from, deadline: deadline) }
        }
        alarm.set()
    }

    /// Takes the streams whose queues have room. The others are asked again soon.
    private func ready() -> [Waiting] {
        let now = ContinuousClock.now
        let (ready, hasMore) = waiting.withLock { waiting in
            var ready: [Waiting] = []
            waiting.removeAll { stream in
                if stream.watch.queue.end != nil { return true }
                if stream.watch.queue.hasRoom {
                    ready.append(stream)
                    return true
                }
                if stream.deadline > now { return false }
                stream.watch.queue.end(.slow)
                return true
            }
            return (ready, !waiting.isEmpty)
        }
        if hasMore { alarm.set(now + .milliseconds(100)) }
        return ready
    }

    private func read(for ready: [Waiting]) async throws {
        // Before the topic's end is asked for, so that nothing is between the two.
        for stream in ready { stream.watch.queue.hold() }
        let start = ContinuousClock.now
        var left = ready
        do {
            let range = try open()
            let result = await read(range, for: &left)
            await range.close()
            // The pause that keeps the average rate; the streams of this reading have gone on already.
            try await Task.sleep(until: start + .seconds(Double(try result.get()) / Self.rate))
        } catch {
            try Task.checkCancellation()
            logger.warning("changes can't be read for resumed streams", metadata: ["error": "\(error)"])
            let now = ContinuousClock.now
            for stream in left where stream.deadline <= now { stream.watch.queue.end(.unreadable) }
            left.removeAll { $0.deadline <= now }
            waiting.withLock { $0 += left }
            if !left.isEmpty { alarm.set(now + .seconds(1)) }
        }
    }

    /// - Parameter streams: afterwards those for which the reading has failed, with the places that they have reached.
    /// - Returns: the number of messages that were read.
    private func read(
        _ range: TopicRange<DocumentChangesEvent>, for streams: inout [Waiting]
    ) async -> Result<Int64, any Error> {
        do {
            var targets = ResumedWatches(
                streams.map { ($0.watch, $0.from) }, watches, try await range.bounds(), limit: limit)
            let starts = targets.offsets
            do {
                try await range.read(from: starts, to: targets.ends) { events in
                    feed.handle(events, for: &targets)
                    watches.relieve()
                    return targets.isWanted
                }
            } catch {
                for index in streams.indices {
                    streams[index].from = targets.reached(by: streams[index].watch) ?? streams[index].from
                }
                throw error
            }
            streams = []
            add(targets.finish())
            return .success(zip(targets.offsets, starts).reduce(0) { $0 + $1.0 - $1.1 })
        } catch {
            return .failure(error)
        }
    }
}

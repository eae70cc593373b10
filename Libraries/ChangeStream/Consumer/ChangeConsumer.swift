import DocumentModel
import EventLoop
public import EventStream
import EventTopics
import Kafka
import Lifecycle
import Logging
import Metrics
import Postgres

/// Consumes `document-changes` without losing a change, even when the broker loses one.
///
/// The handler receives changes only: large ones are read from their change rows, and heads don't reach it. What was handled is
/// recorded in Postgres, by the handler's claims and, for changes without effect, in bulk every second. A sweep, at the start and at
/// intervals, compares heads with what was handled, and passes missing changes through the same lanes. A member sweeps only the
/// partitions whose keys are currently assigned to it, so that a partition's events are never handled in two places. Changes of an
/// app that exceeds its share of the changes that may wait are deferred, and are read from Postgres later, in order
/// (`ChangeBacklog`).
public final class ChangeConsumer<Handler: ChangeHandler>: Service {
    /// How often heads are compared. A change that is late by less than this is left to the topic, except in the first sweep.
    private let pace: SweepPace
    private let consumer: EventConsumer<ChangeAdapter<Handler>>
    private let recorder: ChangeRecorder
    private let backlog = ChangeBacklog()
    private let handled: HandledEvents
    private let source: any GapSource
    private let client: PostgresClient
    private let logger: Logger
    private let recording = Locked(FailureChanges())
    private let repaired: Counter
    private let behind: Gauge

    /// Creates the consumer without connecting to the broker; ``run()`` starts it.
    /// - Parameters:
    ///   - name: the consumer's name in its group and in `HandledEvents`; it must not change between releases.
    ///   - sweepInterval: how often the heads of partitions that changed lately are compared; those of all partitions are compared as
    ///     often, or less often if that takes long.
    public init(
        pool: String, name: String, kafka: KafkaConfiguration, postgres: PostgresClient, source: any GapSource,
        options: EventConsumerOptions = EventConsumerOptions(), sweepInterval: Duration = .seconds(30),
        handler: Handler,
        logger: Logger = Logger(label: "event-stream")
    ) {
        pace = SweepPace(interval: sweepInterval)
        self.source = source
        self.logger = logger
        client = postgres
        handled = HandledEvents(consumer: name)
        recorder = ChangeRecorder(handled: handled, client: postgres)
        repaired = ChangeStreamMetrics.repaired[name]
        behind = ChangeStreamMetrics.behind[name]
        consumer = EventConsumer(
            pool: pool, group: name, kafka: kafka, options: options,
            handler: ChangeAdapter(
                handler: handler, source: source, recorder: recorder, backlog: backlog, logger: logger),
            backlog: backlog, logger: logger)
    }

    /// Consumes until a graceful shutdown or cancellation.
    /// - Throws: the error for which the handler decided to stop, and fatal errors of the Kafka client.
    public func run() async throws {
        let result = await withTaskGroup(of: Void.self) { tasks -> Result<Void, any Error> in
            tasks.addTask { await self.sweepRepeatedly() }
            tasks.addTask { await self.recordRepeatedly() }
            tasks.addTask { await self.readBacklog() }
            let result: Result<Void, any Error>
            do { result = .success(try await self.consumer.run()) } catch { result = .failure(error) }
            tasks.cancelAll()
            return result
        }
        await recordNow()
        try result.get()
    }

    // MARK: Sweeping

    private struct Sweep {
        /// The heads of the partitions with unhandled changes.
        var heads: [PartitionKey: Int64] = [:]
        /// How long the search took, without the handling of what it found.
        var duration = Duration.zero
    }

    /// Runs until it is cancelled.
    private func sweepRepeatedly() async {
        var last: [PartitionKey: Int64]?
        var nextOfAll = ContinuousClock.now
        do {
            try await consumer.waitUntilAssigned()
            while true {
                // Another member may have had deferred changes in memory, which aren't recorded anywhere else.
                if backlog.takeMoved() {
                    last = nil
                    nextOfAll = .now
                }
                do {
                    // Changes since the last sweep may still be in flight on the topic.
                    let known = last
                    let lately = try await sweep(.changed(within: pace.lately)) { key, head in
                        known.map { min(head, $0[key] ?? 0) } ?? head
                    }
                    last = lately.heads
                    if ContinuousClock.now >= nextOfAll {
                        // What hasn't changed lately isn't in flight any more. (The newest change may have an older time than others, of
                        // a transaction that lasted.)
                        let others = try await sweep(.unchanged(for: pace.lately)) { lately.heads[$0] == nil ? $1 : 0 }
                        nextOfAll = .now + pace.wait(after: others.duration)
                    }
                } catch let error where !(error is CancellationError) {
                    logger.warning("a gap sweep failed, the next one repeats it", metadata: ["error": "\(error)"])
                    nextOfAll = .now
                }
                backlog.moves.set(.now + pace.interval)
                try await backlog.moves.ring()
            }
        } catch {
            // Cancelled: the consumer has ended.
        }
    }

    /// Compares heads with what was handled, and handles the missing changes of this member's partitions.
    /// - Parameters:
    ///   - partitions: Which partitions are compared.
    ///   - end: Up to which revision number changes are missing, by partition and head.
    private func sweep(
        _ partitions: SweepScope, upTo end: (_ partition: PartitionKey, _ head: Int64) -> Int64
    ) async throws -> Sweep {
        // Changes without effect may have been recorded only in memory until now.
        await recordNow()
        var sweep = Sweep()
        var cursor: PartitionKey?
        while true {
            let start = ContinuousClock.now
            let page = try await source.heads(
                unhandledBy: handled.consumer, of: partitions, after: cursor, limit: 1000)
            sweep.duration += .now - start
            try await repair(page, upTo: end, &sweep)
            guard let last = page.last, page.count == 1000 else { return sweep }
            cursor = .init(app: last.app, partition: last.partition)
        }
    }

    private func repair(
        _ heads: [PartitionHead], upTo end: (PartitionKey, Int64) -> Int64, _ sweep: inout Sweep
    ) async throws {
        let progress = try await handled.progress(
            heads.map { .init(app: $0.app, partition: $0.partition) }, on: client)
        for head in heads {
            let key = PartitionKey(app: head.app, partition: head.partition)
            let done = progress[key] ?? .none
            guard done.watermark < head.head.number else { continue }
            sweep.heads[key] = head.head.number
            let end = end(key, head.head.number)
            guard done.watermark < end, !backlog.contains(key),
                await consumer.owns(key: DocumentChangesEvent.key(app: key.app, partition: key.partition))
            else { continue }
            let (count, _) = try await handleMissing(key, done, end: end, epoch: head.head.epoch)
            guard count > 0 else { continue }
            repaired.increment(by: count)
            logger.notice(
                "changes that the topic did not deliver are handled",
                metadata: ["partition.id": "\(key.partition)", "app.id": "\(key.app)", "count": "\(count)"])
        }
    }

    /// Reads the unhandled changes of a partition up to `end` from Postgres, and passes them to the handler.
    /// - Parameter limit: After this long it ends early.
    /// - Returns: the number of changes that were passed on, and whether these were all.
    private func handleMissing(
        _ key: PartitionKey, _ done: HandledEvents.Progress, end: Int64, epoch: Int32, within limit: Duration? = nil
    ) async throws -> (count: Int, isDone: Bool) {
        let deadline = limit.map { ContinuousClock.now + $0 }
        var position = done.watermark
        var count = 0
        while position < end {
            let changes = try await source.changes(key, after: position, limit: 200)
            let found = changes.filter { $0.revision.number <= end }
            if let first = changes.first, first.revision.number > position + 1 {
                try await skip(key, to: Revision(epoch: first.revision.epoch, number: first.revision.number - 1))
            } else if changes.isEmpty, end < .max {  // otherwise nothing is missing
                try await skip(key, to: Revision(epoch: epoch, number: end))
            }
            var missing = found.filter { !done.contains($0.revision.number) }[...]
            while !missing.isEmpty {
                let part = missing.prefix(deadline == nil ? missing.count : Self.partOfPage)
                await consumer.inject(part.map { ReceivedEvent(.change($0)) })
                count += part.count
                missing.removeFirst(part.count)
                if let deadline, ContinuousClock.now > deadline { return (count, false) }
            }
            guard let last = found.last else { break }
            position = last.revision.number
        }
        return (count, true)
    }

    /// How many changes are handled at once where the time is limited.
    private static var partOfPage: Int { 20 }

    private func skip(_ key: PartitionKey, to revision: Revision) async throws {
        logger.warning(
            "changes are no longer kept and are skipped",
            metadata: ["partition.id": "\(key.partition)", "app.id": "\(key.app)", "revision": "\(revision)"])
        try await handled.skip(key, to: revision, on: client)
    }

    // MARK: Reading deferred changes

    /// After this long the reading of a partition lets others go first.
    private static var readingTime: Duration { .seconds(1) }

    /// Runs until it is cancelled.
    private func readBacklog() async {
        await withDiscardingTaskGroup { group in
            for await _ in backlog.wakes {
                behind.set(backlog.count)
                for (key, span) in backlog.next() { group.addTask { await self.catchUp(key, span) } }
            }
        }
    }

    /// Handles a partition's changes up to the last one that was deferred.
    private func catchUp(_ key: PartitionKey, _ span: ChangeBacklog.Span) async {
        let timer = Task {  // ends by being cancelled when the reading ends
            try await Task.sleep(for: Self.readingTime)
            backlog.takesLong(key)
        }
        defer { timer.cancel() }
        let topicKey = DocumentChangesEvent.key(app: key.app, partition: key.partition)
        do {
            guard await consumer.owns(key: topicKey) else { return backlog.giveUp(key, isOurs: false) }
            try await recorder.flush()
            var done = try await handled.progress([key], on: client)[key] ?? .none
            done = done.before(span.first)
            // If the database has lost the last one, it has others in its place, or none.
            let end = try await source.areLost([(key, span.last)]) == [true] ? Int64.max : span.last.number
            if done.watermark < end {
                let (count, isDone) = try await handleMissing(
                    key, done, end: end, epoch: span.last.epoch, within: Self.readingTime)
                logger.debug(
                    "deferred changes are handled",
                    metadata: ["partition.id": "\(key.partition)", "app.id": "\(key.app)", "count": "\(count)"])
                guard isDone else { return backlog.giveUp(key, isOurs: true) }
            }
            // Injected events come back unhandled when the partition was reassigned to another member.
            guard await consumer.owns(key: topicKey) else { return backlog.giveUp(key, isOurs: false) }
            backlog.finish(key, span)
        } catch {
            if !(error is CancellationError) {
                logger.warning("deferred changes can't be read, trying again", metadata: ["error": "\(error)"])
            }
            // Most likely Postgres is unavailable and shouldn't be queried without a pause. Cancelled: the consumer has ended.
            try? await Task.sleep(for: .seconds(1))
            backlog.giveUp(key, isOurs: true)
        }
    }

    // MARK: Recording

    /// Runs until it is cancelled.
    private func recordRepeatedly() async {
        while !Task.isCancelled {
            do {
                try await recorder.notes.ring()
                // The changes of one second are written together.
                try await Task.sleep(for: .seconds(1))
            } catch {
                return
            }
            await recordNow()
        }
    }

    private func recordNow() async {
        do {
            try await recorder.flush()
            if recording.withLock({ $0.recovered() }) { logger.notice("handled changes are recorded again") }
        } catch {
            // They stay in memory. If this process ends before they are written, they are handled again, which has no effect
            // either.
            let isNew = recording.withLock { $0.isNew("\(error)") }
            logger.log(
                level: isNew ? .warning : .debug, "handled changes could not be recorded",
                metadata: ["error": "\(error)"])
        }
    }
}

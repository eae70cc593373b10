import DocumentModel
public import DocumentStore
public import EventLoop
public import EventStream
import EventTopics
import Kafka
public import Lifecycle
public import Logging
import Metrics
import Postgres
import SyncEngine

/// Publishes change rows to the topic `document-changes`, each partition's in the order of revisions.
///
/// Any number of relays may run. They share the partitions by shards; each shard has a lease in Postgres that expires and is
/// fenced, so a relay that was stopped for a while neither blocks a shard nor moves its mark back. A change is published at
/// least once: a mark in Postgres follows the broker's acknowledgement, and changes beyond the mark are published again.
///
/// A relay is woken by commits of its own process and by NOTIFY from others, and sweeps for commits that both have missed.
public final class OutboxRelay: Service {
    /// Settings of a relay.
    public struct Options: Sendable {
        /// The number of shards that partitions are divided into; must be the same for all relays of a database.
        public var shards: Int
        /// How long a lease is valid without renewal; it is renewed every third of this time.
        public var leaseDuration: Duration
        /// How often the relay looks for unpublished changes of which it was not notified.
        public var sweepInterval: Duration
        /// How often the heads of active partitions are published.
        public var headInterval: Duration
        /// The limit in bytes of a change's message; that of a larger change only names it. It must be below the limit of the
        /// producer, whose messages also have headers.
        public var messageLimit: Int
        /// The maximum number of changes of one partition that are published together.
        public var changesPerPartition: Int
        /// The maximum number of partitions that are published together.
        public var partitionsPerRound: Int
        /// The size in bytes of the documents that are published together; exceeded by one change at most.
        public var bytesPerRound: Int
        /// How long changes and tombstones are kept.
        public var retention: HistoryRetention.Options

        public init(
            shards: Int = 32, leaseDuration: Duration = .seconds(2), sweepInterval: Duration = .seconds(1),
            headInterval: Duration = .seconds(5), messageLimit: Int = 900_000, changesPerPartition: Int = 256,
            partitionsPerRound: Int = 256, bytesPerRound: Int = 8 << 20, retention: HistoryRetention.Options = .init()
        ) {
            self.shards = max(shards, 1)
            self.leaseDuration = leaseDuration
            self.sweepInterval = sweepInterval
            self.headInterval = headInterval
            self.messageLimit = messageLimit
            self.changesPerPartition = max(changesPerPartition, 1)
            self.partitionsPerRound = max(partitionsPerRound, 1)
            self.bytesPerRound = max(bytesPerRound, 1)
            self.retention = retention
        }
    }

    let store: DocumentStore
    let producer: EventProducer
    let options: Options
    private let leases: WorkLeases
    let logger: Logger
    private let loop: EventLoop
    private let state: Locked<RelayState>
    private let wakes: AsyncStream<Void>
    private let wake: AsyncStream<Void>.Continuation
    private let marking = Alarm()
    private static let markDelay = Duration.milliseconds(50)
    private let pace = SweepPace(interval: .seconds(30))
    private static let markRetry = Duration.seconds(1)
    private let metrics = RelayMetrics()
    /// The state of rounds that fail one after the other.
    private struct Publishing {
        var backoff = RetryBackoff(RetrySchedule(first: .milliseconds(200), limit: .seconds(5)))
        var reported = FailureChanges()
    }
    private let publishing = Locked(Publishing())

    /// - Parameters:
    ///   - producer: A producer for the pool to which the store's apps belong.
    ///   - loop: The event loop on which the relay works. If it is the same as that of the connections to Postgres and of the
    ///     producer, the many steps of an event need no change of thread.
    public init(
        store: DocumentStore, producer: EventProducer, on loop: EventLoop, options: Options = Options(),
        logger: Logger = Logger(label: "outbox-relay")
    ) {
        self.store = store
        self.producer = producer
        self.loop = loop
        self.options = options
        self.logger = logger
        leases = WorkLeases("document-changes", count: options.shards, client: store.client)
        state = Locked(RelayState(shards: options.shards))
        (wakes, wake) = AsyncStream.makeStream(bufferingPolicy: .bufferingNewest(1))
    }

    /// The shards that this relay leads.
    public var ledShards: Set<Int> {
        let now = ContinuousClock.now
        return state.withLock { state in Set(state.leases.filter { $0.value.validUntil > now }.keys) }
    }

    /// Publishes until graceful shutdown or cancellation, then releases its leases.
    public func run() async throws {
        let observation = store.observeCommits { [weak self] app, heads in
            self?.woken(heads.map { PartitionKey(app: app, partition: $0.partition) }) ?? []
        }
        defer { observation.cancel() }
        let listener = PostgresListener(
            configuration: store.client.configuration, channels: [CommitNotifier.channel], on: loop, logger: logger)
        try await cancelWhenGracefulShutdown {
            await withTaskExecutorPreference(self.loop.taskExecutor) { await self.work(listener) }
        }
        await leave()
    }

    private func work(_ listener: PostgresListener) async {
        await withTaskGroup(of: Void.self) { group in
            // The listener reconnects by itself, and ends with the task.
            group.addTask { try? await listener.run() }
            group.addTask { await self.follow(listener.events) }
            group.addTask { await self.every(self.options.leaseDuration / 3) { try await self.renew() } }
            group.addTask { await self.every(self.options.sweepInterval) { try await self.sweepRecent(.seconds(5)) } }
            group.addTask { await self.every(self.pace.interval) { try await self.sweepRecent(self.pace.lately) } }
            group.addTask { await self.every(self.pace.interval, isSearch: true) { try await self.sweep() } }
            group.addTask { await self.every(self.options.headInterval) { try await self.publishHeads() } }
            group.addTask { await self.markPublished() }
            group.addTask { await self.every(.seconds(600)) { try await self.retain() } }
            group.addTask { await self.publish() }
            await group.waitForAll()
        }
    }

    private func leave() async {
        do {
            try await mark()
            try await leases.release()
        } catch {
            logger.debug("leases were not released; they expire", metadata: ["error": "\(error)"])
        }
    }

    /// Runs `work` repeatedly; if it fails, it is retried at the next time.
    /// - Parameter isSearch: Whether it takes long if much is stored, and then runs less often.
    private func every(
        _ interval: Duration, isSearch: Bool = false, _ work: @Sendable () async throws -> Void
    ) async {
        var failures = FailureChanges()
        while !Task.isCancelled {
            let start = ContinuousClock.now
            await attempt(&failures, work)
            let wait = isSearch ? pace.wait(after: .now - start) : interval
            // If the task was cancelled, the loop's condition ends the loop.
            try? await Task.sleep(for: wait)
        }
    }

    private func attempt(_ failures: inout FailureChanges, _ work: @Sendable () async throws -> Void) async {
        do {
            try await work()
            if failures.recovered() { logger.notice("the relay works again") }
        } catch is CancellationError {
            // The caller ends.
        } catch {
            metrics.failures.increment()
            logger.log(
                level: failures.isNew("\(error)") ? .warning : .debug, "relay failed, tries again",
                metadata: ["error": "\(error)"])
        }
    }

    // MARK: Waking

    /// - Returns: the partitions that this relay leads.
    private func woken(_ partitions: [PartitionKey]) -> Set<PartitionKey> {
        let now = ContinuousClock.now
        let (mine, isDue) = state.withLock { state in
            let mine = Set(partitions.filter { state.leads($0, at: now) })
            return (mine, state.wake(mine))
        }
        if isDue { wake.yield() }
        return mine
    }

    private func follow(_ events: AsyncStream<PostgresListener.Event>) async {
        for await event in events {
            if case .notification(let notification) = event,
                let partition = PartitionKey(notification: notification.payload)
            {
                _ = woken([partition])
            } else {
                await once { try await self.sweepRecent(.seconds(30)) }
            }
        }
    }

    private func once(_ work: @Sendable () async throws -> Void) async {
        do {
            try await work()
        } catch {
            // The periodic sweep finds what this one would have found.
            logger.debug("sweep failed", metadata: ["error": "\(error)"])
        }
    }

    /// - Parameter age: How old the changes may be, by the beginning of their transactions. Each second reads them all again, so
    ///   that it costs in proportion; what a longer transaction has written is found by ``sweep()`` if it wasn't announced.
    private func sweepRecent(_ age: Duration) async throws {
        if ledShards.isEmpty { return }
        try wakeAll(await store.client.query(OutboxSQL.recent, [.int(age.components.seconds)]))
    }

    private func sweep() async throws {
        if ledShards.isEmpty { return }
        try wakeAll(await store.client.query(OutboxSQL.sweep))
    }

    private func wakeAll(_ rows: PostgresRows) throws {
        var partitions: [PartitionKey] = []
        for row in rows {
            let (app, partition) = try row.decode((String, String).self)
            partitions.append(PartitionKey(app: app, partition: Partition(text: partition)))
        }
        _ = woken(partitions)
    }

    // MARK: Leading

    private func renew() async throws {
        let asked = ContinuousClock.now
        var held: [Int: RelayState.Lease] = [:]
        for (shard, fence) in try await leases.acquire(for: options.leaseDuration) {
            // Shorter than in Postgres, since clocks run at different speeds.
            held[shard] = .init(fence: fence, validUntil: asked + options.leaseDuration * 0.8)
        }
        let gained = state.withLock { $0.take(held) }
        metrics.shards.set(held.count)
        if !gained.isEmpty {
            logger.notice("leads shards", metadata: ["count": "\(held.count)", "gained": "\(gained.count)"])
            try await sweep()
        }
    }

    /// Only the relay that leads the first shard does it.
    private func retain() async throws {
        guard ledShards.contains(0) else { return }
        try await HistoryRetention(client: store.client, options: options.retention, logger: logger).sweep()
    }

    // MARK: Publishing

    private struct Refused: Error, CustomStringConvertible {
        let error: any Error
        var description: String { "the broker refused changes: \(error)" }
    }

    private func publish() async {
        await withDiscardingTaskGroup { group in
            // Two rounds overlap, so that one reads while the other waits for the broker.
            let slots = AsyncStream.makeStream(of: Void.self, bufferingPolicy: .bufferingNewest(2))
            slots.continuation.yield()
            slots.continuation.yield()
            var free = slots.stream.makeAsyncIterator()
            for await _ in wakes {
                while !Task.isCancelled {
                    let partitions = state.withLock { $0.next(options.partitionsPerRound, at: .now) }
                    if partitions.isEmpty { break }
                    _ = await free.next()
                    group.addTask {
                        await self.publish(partitions)
                        slots.continuation.yield()
                    }
                }
            }
            slots.continuation.finish()
        }
    }

    private func publish(_ partitions: [(partition: PartitionKey, after: Revision?)]) async {
        var positions: [PartitionKey: Revision] = [:]
        var unfinished: Set<PartitionKey> = []
        do {
            let rows: [(partition: PartitionKey, rows: [ChangeRow])]
            (rows, unfinished) = try await read(partitions)
            try await send(rows, positions: &positions)
            let isBack = publishing.withLock { publishing in
                publishing.backoff.reset()
                return publishing.reported.recovered()
            }
            if isBack { logger.notice("publishing works again") }
        } catch {
            metrics.failures.increment()
            let (pause, isNew) = publishing.withLock { ($0.backoff.next(), $0.reported.isNew("\(error)")) }
            logger.log(
                level: isNew ? .warning : .debug, "publishing failed, trying again", metadata: ["error": "\(error)"])
            unfinished = Set(partitions.map(\.partition))
            // If the task was cancelled, the next attempt finds that out.
            try? await Task.sleep(for: pause)
        }
        let isDue = state.withLock {
            $0.finish(partitions.map(\.partition), published: positions, unfinished: unfinished)
        }
        if isDue { wake.yield() }
        if !positions.isEmpty { marking.set(.now + Self.markDelay) }
    }

    /// Marks changes as published, those of many rounds together. Ends when the task is cancelled.
    private func markPublished() async {
        var failures = FailureChanges()
        while (try? await marking.ring()) != nil { await attempt(&failures) { try await mark() } }
    }

    /// - Returns: the rows to publish, and the partitions that may have more.
    private func read(
        _ partitions: [(partition: PartitionKey, after: Revision?)]
    ) async throws -> (rows: [(partition: PartitionKey, rows: [ChangeRow])], unfinished: Set<PartitionKey>) {
        let rows = try await store.client.lookUp(
            OutboxSQL.read,
            [
                .textArray(partitions.map(\.partition.app)),
                .textArray(partitions.map(\.partition.partition.text)),
                .int8Array(partitions.map { $0.after.map { Int64($0.epoch) } }),
                .int8Array(partitions.map { $0.after?.number }), .int(Int64(options.changesPerPartition)),
                .int(Int64(options.bytesPerRound)), .int(Int64(options.messageLimit)),
            ])
        var read: [(partition: PartitionKey, rows: [ChangeRow])] = partitions.map { ($0.partition, []) }
        var bytes = 0
        var last = 0
        for row in rows {
            last = try row.decode(0, as: Int.self) - 1
            let change = try ChangeRow(row, offset: 1, size: try row.decode(21), continues: try row.decode(22))
            if change.size <= options.messageLimit { bytes += change.size }
            read[last].rows.append(change)
        }
        let isCut = bytes >= options.bytesPerRound
        let unfinished = read.indices.filter { place in
            isCut && place >= last || read[place].rows.count == options.changesPerPartition
        }
        return (read, Set(unfinished.map { read[$0].partition }))
    }

    /// Sends the rows, and records in `positions` how far each partition is published.
    private func send(
        _ read: [(partition: PartitionKey, rows: [ChangeRow])], positions: inout [PartitionKey: Revision]
    ) async throws {
        var records: [KafkaRecord] = []
        var sources: [(partition: PartitionKey, row: ChangeRow)] = []
        for (partition, rows) in read {
            for row in rows {
                records.append(try record(of: row))
                sources.append((partition, row))
            }
        }
        if records.isEmpty { return }
        let outcome = try await producer.send(records, of: DocumentChangesEvent.topic)
        var failures: [Int: KafkaError] = [:]
        for failure in outcome.failures { failures[failure.index] = failure.error }
        // The topic's limit may be lower than the relay's. The broker refuses such a change together with those that shared its
        // request, so each is sent alone.
        for place in failures.filter({ $0.value.code == .messageTooLarge }).keys.sorted() {
            failures[place] = try await resend(records[place], of: sources[place].row)
        }
        positions = RelayState.positions(of: sources.map { ($0.partition, $0.row.revision) }) { failures[$0] == nil }
        metrics.published.increment(by: records.count - failures.count)
        // The messages that the broker has acknowledged still count: `positions` has them.
        if let failure = failures.min(by: { $0.key < $1.key }) { throw Refused(error: failure.value) }
    }

    /// Sends the message of a row alone, and when it is too large, the one that only names the change.
    private func resend(_ record: KafkaRecord, of row: ChangeRow) async throws -> KafkaError? {
        let again = try await producer.send([record], of: DocumentChangesEvent.topic).failures.first?.error
        guard let again, again.code == .messageTooLarge else { return again }
        let name = producer.record(DocumentChangesEvent.large(try row.largeChange()))
        return try await producer.send([name], of: DocumentChangesEvent.topic).failures.first?.error
    }

    /// The message of a row. A change that can't be read, or whose message would be too large, is only named: it must not block
    /// those behind it.
    private func record(of row: ChangeRow) throws -> KafkaRecord {
        // The message contains the documents, and for an update also what has changed.
        if row.size <= options.messageLimit {
            do {
                let record = producer.record(DocumentChangesEvent.change(try row.event()))
                if record.size <= options.messageLimit { return record }
            } catch {
                logger.error(
                    "a change row can't be read",
                    metadata: ["partition.id": "\(row.partition)", "error": "\(error)"])
            }
        }
        return producer.record(DocumentChangesEvent.large(try row.largeChange()))
    }

    private func mark() async throws {
        let marks = state.withLock { $0.takeMarks() }
        if marks.isEmpty { return }
        do {
            try await store.client.execute(
                OutboxSQL.mark,
                [
                    .text(leases.holder), .textArray(marks.map(\.partition.app)),
                    .textArray(marks.map(\.partition.partition.text)),
                    .int8Array(marks.map { Int64($0.revision.epoch) }), .int8Array(marks.map(\.revision.number)),
                    .int8Array(marks.map { Int64($0.shard) }), .int8Array(marks.map(\.fence)), .text(leases.name),
                ])
        } catch {
            state.withLock { $0.giveBack(marks) }
            marking.set(.now + Self.markRetry)
            throw error
        }
    }

    private func publishHeads() async throws {
        let heads = state.withLock { $0.takeHeads() }
        if heads.isEmpty { return }
        let now = store.clock.now()
        _ = try await producer.send(
            heads.map { partition, head in
                DocumentChangesEvent.head(
                    PartitionHead(
                        app: partition.app, partition: partition.partition, head: head,
                        time: now))
            })
    }
}

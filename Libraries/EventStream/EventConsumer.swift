import DocumentModel
import EventLoop
import EventTopics
import Kafka
import Lifecycle
import Logging
import Metrics

/// Consumes a topic as a member of a group: events of one lane in order, lanes concurrently, offsets committed only after the
/// effects of everything before them.
///
/// **At least once.** An event is delivered again after a crash between its effect and its offset's commit, so handlers claim it in
/// the transaction of the effect (`HandledEvents`). **Bounded.** The number of events that wait in this process is limited per
/// Kafka partition, by pausing the partition. **A failure stays in its lane**: the event is retried with growing delays while other
/// lanes go on, until the handler decides to skip or dead-letter it. Its Kafka partition keeps its offset in the meantime, and is
/// paused once the limit is reached; with an `EventBacklog`, offsets advance instead, and events of shares that exceed their budget
/// are left to it.
///
/// At a graceful shutdown it stops reading, lets running handlers finish, commits, and leaves the group.
public actor EventConsumer<Handler: EventHandler>: Service {
    public typealias Payload = Handler.Payload

    private enum Item: Sendable {
        case event(ReceivedEvent<Payload>, Injection?)
        case undecodable(KafkaMessage, EventTopicsError)
    }

    private typealias Book = ConsumerBook<Item>
    private typealias Entry = EventLanes<Item>.Entry
    private typealias Work = EventLanes<Item>.Work

    private let configuration: KafkaConfiguration
    private let group: String
    private let options: EventConsumerOptions
    private let handler: Handler
    private let backlog: (any EventBacklog<Payload>)?
    private let logger: Logger
    private let topic: String
    private let lagGauge: Gauge
    private let readCounter: Counter
    private let handledCounter: Counter
    private let retryCounter: Counter
    private let deadLetterCounter: Counter

    private var consumer: KafkaConsumer?
    private var book: Book
    private var relief: CheckedContinuation<Void, Never>?
    private var partitionCount = 0
    private var idleWorkers: [CheckedContinuation<Work?, Never>] = []
    private var nextDue: ContinuousClock.Instant?
    /// When handlers are cancelled that still run; `nil` unless it is stopping.
    private var drainEnd: ContinuousClock.Instant?
    private var isStopping: Bool { drainEnd != nil }
    private var failure: (any Error)?
    private let assigned = Milestone()

    /// Creates the consumer without connecting; ``run()`` starts it.
    /// - Parameters:
    ///   - group: the consumer's name, usually the service's; the group's name is `partita.<pool>.<group>`.
    ///   - backlog: reads later the events that don't wait in this process; `nil` when all of them wait here.
    public init(
        pool: String, group: String, kafka: KafkaConfiguration, options: EventConsumerOptions = EventConsumerOptions(),
        handler: Handler, backlog: (any EventBacklog<Payload>)? = nil, logger: Logger? = nil
    ) {
        configuration = kafka
        self.group = "partita.\(pool).\(group)"
        self.options = options
        self.handler = handler
        self.backlog = backlog
        book = Book(options, canDefer: backlog != nil)
        topic = Payload.topic.fullName(pool: pool)
        let labels = [Payload.topic.name, group]
        lagGauge = EventStreamMetrics.lag.handle(labels)
        readCounter = EventStreamMetrics.read[Payload.topic.name]
        handledCounter = EventStreamMetrics.handled.handle(labels)
        retryCounter = EventStreamMetrics.retries.handle(labels)
        deadLetterCounter = EventStreamMetrics.deadLetters.handle(labels)
        var logger = logger ?? Logger(label: "event-stream")
        logger[metadataKey: "kafka.topic"] = "\(topic)"
        logger[metadataKey: "kafka.group"] = "\(self.group)"
        self.logger = logger
    }

    /// Consumes until a graceful shutdown or cancellation.
    /// - Throws: the error for which the handler decided to stop, and fatal errors of the Kafka client.
    public func run() async throws {
        let consumer = try KafkaConsumer(
            configuration: configuration,
            options: KafkaConsumerOptions(
                group: group, instanceID: options.instanceID, sessionTimeout: options.sessionTimeout,
                batchLimit: min(1000, options.pendingEvents)),
            logger: logger)
        self.consumer = consumer
        drainEnd = nil
        do {
            try await consumer.subscribe(to: [topic]) { [weak self] change in await self?.rebalanced(change) }
            try await withTaskCancellationOrGracefulShutdownHandler {
                try await withThrowingTaskGroup(of: Void.self) { tasks in
                    for _ in 0..<options.concurrency { tasks.addTask { await self.work() } }
                    tasks.addTask { try await self.poll(consumer) }
                    // Not `waitForAll`, which doesn't cancel the handlers when `poll` gives them up.
                    while try await tasks.next() != nil {}
                }
            } onCancelOrGracefulShutdown: {
                // An unstructured task: it only sets a flag, and `run` outlasts it.
                Task { await self.stop() }
            }
        } catch is CancellationError where isStopping {
            // Handlers that did not finish in time were cancelled; their events are delivered again.
        } catch {
            failure = failure ?? error
        }
        // Callers of `inject` still wait for events that weren't handled.
        for entry in book.removeAll() { settle(entry) }
        // Closing releases the partitions without a call of `rebalanced`.
        await handler.assigned(isAll: false)
        // Who is cancelled has had the time to end, and will be killed soon: the group then waits until the session has expired.
        let rest = Task.isCancelled ? .zero : (drainEnd ?? .now) - .now
        await consumer.close(deadline: max(rest, min(.seconds(2), options.drainTimeout)))
        self.consumer = nil
        if let failure { throw failure }
    }

    /// Returns when the group has assigned partitions to this member for the first time.
    /// - Throws: `CancellationError`.
    public nonisolated func waitUntilAssigned() async throws { try await assigned.wait() }

    /// Returns whether the partition of events with this key is currently assigned to this member.
    public func owns(key: String) -> Bool {
        partitionCount > 0 && book.owned.contains(EventKey.partition(of: key.utf8, count: partitionCount))
    }

    /// Adds events that were not received from the topic to their lanes, and returns when they are handled, skipped or dead-lettered, or
    /// no longer this member's. Events whose partition isn't assigned to this member are ignored.
    public func inject(_ events: [ReceivedEvent<Payload>]) async {
        let injection = Injection()
        for event in events where owns(key: event.key) && !isStopping {
            injection.begin()
            let partition = EventKey.partition(of: event.key.utf8, count: partitionCount)
            book.append(
                .init(event: .event(event, injection), partition: partition, offset: nil, bytes: 256),
                to: handler.lane(of: event), of: handler.share(of: event), member: handler.member(of: event))
        }
        dispatch()
        await injection.wait()
    }

    // MARK: Reading

    private func poll(_ consumer: KafkaConsumer) async throws {
        var nextReport = ContinuousClock.now
        while !isStopping, !Task.isCancelled {
            let now = ContinuousClock.now
            nextDue = book.wake(now)
            dispatch()
            guard relievePressure(now) else {
                await waitForRelief()
                continue
            }
            // While there are uncommitted messages, offsets may have to advance, so the wait is shorter. Otherwise only new
            // messages make work, and they end the wait.
            let longest: Duration = book.uncommitted > 0 ? .seconds(1) : .seconds(5)
            let wait = nextDue.map { min(longest, max(.milliseconds(1), $0 - now)) } ?? longest
            do {
                // Partitions are moved only within `next`, so not between its return and `accept`.
                let messages = try await consumer.next(timeout: wait).messages
                readCounter.increment(by: messages.count)
                accept(messages, skipped: messages.isEmpty ? [] : await handler.skipped(messages))
            } catch {
                stop(error)
                break
            }
            if now >= nextReport {
                nextReport = now + .seconds(1)
                reportLag(consumer)
            }
        }
        stop()
        await joinBeforeLeaving(consumer)
        guard await waitUntilIdle() else {
            logger.warning("handlers did not finish in time, they are cancelled")
            throw CancellationError()
        }
    }

    /// librdkafka aborts the process if a member leaves between its joining and its first assignment (its issue 4312, mended in 2.3). What is
    /// read meanwhile is delivered again.
    private func joinBeforeLeaving(_ consumer: KafkaConsumer) async {
        let longest = ContinuousClock.now + .seconds(5)
        let end = min(longest, drainEnd ?? longest)
        while !assigned.isReached, !Task.isCancelled, ContinuousClock.now < end {
            // The broker may be away: then nothing was joined.
            guard (try? await consumer.next(timeout: .milliseconds(50))) != nil else { return }
        }
    }

    private func accept(_ messages: [KafkaMessage], skipped: [Bool]) {
        var done: Book.Offsets = [:]
        var doneCount = 0
        for (place, message) in messages.enumerated() where book.owned.contains(message.partition) {
            book.begin(message.offset, of: message.partition)
            if !skipped.isEmpty, skipped[place] {
                doneCount += 1
                book.leave(message.offset, of: message.partition, &done)
                continue
            }
            let item: Item
            let lane: String, share: String, member: String?
            do {
                let event = try ReceivedEvent<Payload>(message)
                item = .event(event, nil)
                lane = handler.lane(of: event)
                share = handler.share(of: event)
                member = handler.member(of: event)
                if backlog?.takes(event, isOverBudget: book.isOverBudget(share)) == true {
                    book.leave(message.offset, of: message.partition, &done)
                    continue
                }
            } catch {
                item = .undecodable(message, error)
                lane = "undecodable/\(message.partition)"
                share = lane
                member = nil
            }
            book.append(
                .init(
                    event: item, partition: message.partition, offset: message.offset,
                    bytes: 256 + (message.value?.count ?? 0)), to: lane, of: share, member: member)
        }
        noteDone(done, count: doneCount)
        dispatch()
    }

    private func noteDone(_ next: Book.Offsets, count: Int) {
        handledCounter.increment(by: count)
        let offsets = Dictionary(uniqueKeysWithValues: next.map { (topicPartition($0.key), $0.value) })
        attempt { () throws(KafkaError) in try consumer?.storeOffsets(offsets) }
    }

    /// Pauses full partitions, advances the offsets of those that exceed their limit, and returns whether reading may go on.
    private func relievePressure(_ now: ContinuousClock.Instant) -> Bool {
        let (offsets, pause, mustWait) = book.relieve(now)
        if !offsets.isEmpty { noteDone(offsets, count: 0) }
        if !pause.isEmpty {
            logger.debug("paused", metadata: ["kafka.partitions": "\(pause)"])
            attempt { () throws(KafkaError) in try consumer?.pause(pause.map(topicPartition)) }
        }
        return !mustWait
    }

    /// Returns when a full partition is relieved, or after a tenth of a second.
    private func waitForRelief() async {
        let timer = Task {  // ends by being cancelled just below
            try await Task.sleep(for: .milliseconds(100))
            relieve()
        }
        await withCheckedContinuation { relief = $0 }
        timer.cancel()
    }

    private func relieve() {
        relief?.resume()
        relief = nil
    }

    private func resumeReading(_ partitions: some Collection<Int32>) {
        if partitions.isEmpty { return }
        attempt { () throws(KafkaError) in try consumer?.resume(partitions.map(topicPartition)) }
    }

    /// Runs a call that doesn't fail while the client works: if it fails, the consumer stops.
    private func attempt(_ body: () throws(KafkaError) -> Void) {
        do { try body() } catch { stop(error) }
    }

    private func topicPartition(_ partition: Int32) -> KafkaTopicPartition {
        KafkaTopicPartition(topic: topic, partition: partition)
    }

    private func reportLag(_ consumer: KafkaConsumer) {
        var sum: Int64 = 0
        do {
            let positions = try consumer.positions(book.owned.map(topicPartition))
            for (partition, position) in positions {
                sum += consumer.lag(partition, from: position) ?? 0
                sum += Int64(book.uncommitted(of: partition.partition))
            }
        } catch {
            logger.debug("the lag is unknown", metadata: ["error": "\(error)"])
            return
        }
        lagGauge.set(Double(sum))
    }

    // MARK: Partitions coming and going

    private func rebalanced(_ change: KafkaRebalance) async {
        switch change {
        case .assigned(let partitions):
            logger.debug(
                "partitions assigned", metadata: ["kafka.partitions": "\(partitions.map(\.partition).sorted())"])
            book.assign(partitions.map(\.partition))
            do {
                if let consumer { partitionCount = try await consumer.metadata(topic).partitions.count }
            } catch {
                // Only `owns` and `inject` need it; the next assignment queries it again.
                logger.debug("the number of partitions is unknown", metadata: ["error": "\(error)"])
            }
            await handler.assigned(isAll: partitionCount > 0 && book.owned.count == partitionCount)
            backlog?.partitionsMoved()
            assigned.reach()
        case .revoked(let partitions, let isLost):
            let gone = Set(partitions.map(\.partition))
            logger.debug(
                "partitions revoked", metadata: ["kafka.partitions": "\(gone.sorted())", "kafka.lost": "\(isLost)"])
            await handler.assigned(isAll: false)
            let (resume, dropped) = book.revoke(gone)
            backlog?.partitionsMoved()
            resumeReading(resume)
            for entry in dropped { settle(entry) }
            if !isLost, await !waitUntilIdle(gone) {
                logger.warning("partitions are released while handlers still have events of them")
            }
            book.forget(gone)
        }
    }

    /// Waits until no handler has events of these partitions, or of any, at most for the drain timeout, which a shutdown begins once.
    private func waitUntilIdle(_ partitions: Set<Int32>? = nil) async -> Bool {
        let end = ContinuousClock.now + options.drainTimeout
        while book.isRunning(partitions) {
            guard ContinuousClock.now < min(end, drainEnd ?? end) else { return false }
            do { try await Task.sleep(for: .milliseconds(5)) } catch { return false }
        }
        return true
    }

    // MARK: Handling

    private func work() async {
        while let work = await nextWork() {
            await process(work)
            let (isRelieved, resume) = book.ended(work)
            if isRelieved { relieve() }
            resumeReading(resume)
        }
    }

    private func nextWork() async -> Work? {
        if isStopping { return nil }
        if let work = book.take() { return work }
        return await withCheckedContinuation { idleWorkers.append($0) }
    }

    /// Gives ready lanes to workers that wait.
    private func dispatch() {
        while !isStopping, !idleWorkers.isEmpty, let work = book.take() {
            idleWorkers.removeLast().resume(returning: work)
        }
    }

    private func process(_ work: Work) async {
        var events: [ReceivedEvent<Payload>] = []
        for entry in work.entries {
            switch entry.event {
            case .event(let event, _): events.append(event)
            case .undecodable(let message, let error):
                // Undecodable messages have a lane per Kafka partition that contains nothing else.
                await sendToDeadLetters(
                    work, DeadLetter(event: nil, message: message, error: error, attempts: 0), isolating: true)
                return
            }
        }
        let crashWork = CrashReport.Work("events of \(topic) from \(events.first?.attributes.id ?? "none")")
        defer { crashWork.end() }
        do {
            try await handler.handle(events)
            finish(work)
        } catch {
            guard events.count == 1, let event = events.first else { return isolate(work) }
            await failed(work, event, error)
        }
    }

    private func failed(_ work: Work, _ event: ReceivedEvent<Payload>, _ error: any Error) async {
        if isStopping, error is CancellationError { return }
        let attempts = work.failures + 1
        var metadata: Logger.Metadata = [
            "event.id": "\(event.attributes.id)", "attempt": "\(attempts)", "error": "\(error)",
        ]
        switch await handler.decide(error, on: event, attempts: attempts) {
        case .retry:
            let delay = options.retries.delay(after: attempts)
            metadata["retry.ms"] = "\(delay / .milliseconds(1))"
            logger.warning("handling an event failed, it is tried again", metadata: metadata)
            retryCounter.increment()
            postpone(work, for: delay)
        case .wait: postpone(work, for: options.retries.delay(after: attempts))
        case .skip: finish(work)
        case .deadLetter:
            logger.error("handling an event failed, it is dead-lettered", metadata: metadata)
            await sendToDeadLetters(
                work, DeadLetter(event: event, message: nil, error: error, attempts: attempts), isolating: false)
        case .stop:
            logger.error("handling an event failed, the consumer stops", metadata: metadata)
            stop(error)
        }
    }

    private func sendToDeadLetters(_ work: Work, _ letter: DeadLetter<Payload>, isolating: Bool) async {
        if isolating, work.entries.count > 1 { return isolate(work) }
        do {
            try await handler.deadLetter(letter)
            deadLetterCounter.increment()
            finish(work)
        } catch {
            logger.error("an event can't be dead-lettered, trying again", metadata: ["error": "\(error)"])
            postpone(work, for: options.retries.delay(after: work.failures + 1))
        }
    }

    private func finish(_ work: Work) {
        let (done, offsets) = book.finish(work)
        for entry in done { settle(entry) }
        noteDone(offsets, count: done.count)
        dispatch()
    }

    private func isolate(_ work: Work) {
        book.isolate(work)
        dispatch()
    }

    private func postpone(_ work: Work, for delay: Duration) {
        let instant = ContinuousClock.now + delay
        book.postpone(work, until: instant)
        dispatch()
        if nextDue.map({ instant < $0 }) ?? true { consumer?.wake() }
    }

    private func settle(_ entry: Entry) {
        if case .event(_, let injection?) = entry.event { injection.end() }
    }

    // MARK: Ending

    private func stop(_ error: (any Error)? = nil) {
        if let error, failure == nil { failure = error }
        guard !isStopping else { return }
        drainEnd = .now + options.drainTimeout
        relieve()
        consumer?.wake()
        for worker in idleWorkers { worker.resume(returning: nil) }
        idleWorkers.removeAll()
    }
}

import EventLoop
import Logging

/// What `KafkaConsumer.next` gives.
public struct KafkaBatch: Sendable {
    /// Messages, in order within each partition.
    public internal(set) var messages: [KafkaMessage] = []
    /// Partitions whose end was reached after these messages; only with `KafkaConsumerOptions.reportsEnds`.
    public internal(set) var ends: [KafkaTopicPartition] = []
}

/// What a group member is told when partitions move.
public enum KafkaRebalance: Sendable {
    /// These are now read here, in addition to those before.
    case assigned([KafkaTopicPartition])
    /// These go to others when the handler returns: finish what is under way and store its offsets. When they are lost, others
    /// may read them already, and offsets can't be stored any more.
    case revoked([KafkaTopicPartition], isLost: Bool)
}

/// Reads messages, as a member of a group or from given offsets. It has a thread of its own, on which `next` waits.
///
/// Pulling is the back-pressure: the client fetches ahead up to `KafkaConsumerOptions.prefetchBytes`, and no further. But who
/// doesn't call `next` for five minutes leaves its group: to hold up some partitions, `pause` them and go on calling.
public actor KafkaConsumer {
    /// Told of partitions coming and going, between two batches; a revocation waits for it.
    public typealias RebalanceHandler = @Sendable (KafkaRebalance) async -> Void

    private let executor = ThreadExecutor(name: "kafka-consume")
    private let native: RDKafkaConsumer
    private let options: KafkaConsumerOptions
    private let logger: Logger
    private let isClosing = Locked(false)
    private var isClosed = false
    private var rebalance: RebalanceHandler?

    public nonisolated var unownedExecutor: UnownedSerialExecutor { executor.asUnownedSerialExecutor() }

    /// Starts the client; it connects in the background.
    /// - Throws: `configuration` that names the setting when one is refused.
    public init(
        configuration: KafkaConfiguration, options: KafkaConsumerOptions = KafkaConsumerOptions(),
        logger: Logger = Logger(label: "kafka.consumer")
    ) throws(KafkaError) {
        self.options = options
        self.logger = logger
        native = try RDKafkaConsumer(
            settings: options.settings(for: configuration), logger: configuration.logger(logger))
    }

    /// Reads through a client that others read through as well: what is assigned, from topics that nobody else reads through it. Ends
    /// of partitions are reported.
    /// - Throws: `closed`; `configuration` that names the setting when one is refused.
    public init(sharing client: KafkaClient, logger: Logger = Logger(label: "kafka.consumer")) throws(KafkaError) {
        options = KafkaConsumerOptions(reportsEnds: true)
        self.logger = logger
        native = try RDKafkaConsumer(sharing: try client.native())
    }

    deinit { executor.stop() }

    // MARK: What to read

    /// Joins the group; partitions come with the following calls of `next`.
    /// - Parameter onRebalance: called from within `next`.
    public func subscribe(to topics: [String], onRebalance: RebalanceHandler? = nil) throws(KafkaError) {
        try checkOpen()
        guard options.group != nil else { throw KafkaError(.configuration, "subscribing needs a group") }
        rebalance = onRebalance
        try native.subscribe(topics)
    }

    /// Reads exactly these partitions from these offsets on, without a group's help, in place of those before.
    /// - Throws: `configuration` when another consumer reads one of the topics through the same client.
    public func assign(_ offsets: [KafkaTopicPartition: KafkaOffset]) throws(KafkaError) {
        try checkOpen()
        try native.assign(offsets.map { ($0.key, $0.value) })
    }

    /// Gives no more messages of these partitions until `resume`; what `next` gave already stays given.
    public nonisolated func pause(_ partitions: [KafkaTopicPartition]) throws(KafkaError) {
        try whileOpen { () throws(KafkaError) in try native.pause(partitions) }
    }

    /// Ends a pause.
    public nonisolated func resume(_ partitions: [KafkaTopicPartition]) throws(KafkaError) {
        try whileOpen { () throws(KafkaError) in try native.resume(partitions) }
    }

    /// Goes on elsewhere in a partition that is read.
    public func seek(_ partition: KafkaTopicPartition, to offset: KafkaOffset) throws(KafkaError) {
        try checkOpen()
        try native.seek(partition, to: offset, timeout: .seconds(5))
    }

    // MARK: Reading

    /// Waits for the first message, and gives it with those that are there already; an empty batch after `timeout`, when
    /// partitions moved, or when the task is cancelled.
    /// - Throws: fatal errors, `unauthorized`, and `closed`. What the client repairs by itself is logged.
    public func next(timeout: Duration = .seconds(1)) async throws(KafkaError) -> KafkaBatch {
        let native = native
        let events = try await withTaskCancellationHandler { () async -> Result<[RDKafkaConsumer.Event], KafkaError> in
            if Task.isCancelled { return .success([]) }
            do throws(KafkaError) { try checkOpen() } catch { return .failure(error) }
            return .success(native.poll(timeout: timeout, limit: options.batchLimit, byteLimit: options.batchBytes))
        } onCancel: {
            native.interrupt()
        }.get()
        var batch = KafkaBatch()
        batch.messages.reserveCapacity(events.count)
        for event in events {
            switch event {
            case .message(let message): batch.messages.append(message)
            case .endOfPartition(let partition): batch.ends.append(partition)
            case .assign(let partitions):
                try native.accept(partitions)
                await rebalance?(.assigned(partitions))
            case .revoke(let partitions, let isLost):
                await rebalance?(.revoked(partitions, isLost: isLost))
                // Closing has answered it meanwhile.
                if !isClosed { try native.release(partitions) }
            case .error(let error, let partition): try report(error, partition)
            }
        }
        return batch
    }

    /// Makes a `next` that waits, or else the following one, return what there is.
    public nonisolated func wake() {
        isClosing.withLock { closing in if !closing { native.interrupt() } }
    }

    private func report(_ error: KafkaError, _ partition: KafkaTopicPartition?) throws(KafkaError) {
        if error.isFatal || error.code == .unauthorized { throw error }
        logger.debug(
            "the consumer reports", metadata: ["error": "\(error.message)", "error.code": "\(error.nativeCode)"])
    }

    // MARK: Offsets

    /// Stores where reading continues after a restart: for each partition, the offset after the last one whose effect is done. It is
    /// committed at intervals, when partitions are revoked, and at the end. Partitions of other members are ignored.
    public nonisolated func storeOffsets(_ next: [KafkaTopicPartition: Int64]) throws(KafkaError) {
        guard !next.isEmpty else { return }
        try whileOpen { () throws(KafkaError) in try native.store(next.map { ($0.key, $0.value) }) }
    }

    /// Commits what is stored, and waits for the broker.
    public func commit() throws(KafkaError) {
        try checkOpen()
        try native.commit()
    }

    /// The group's committed offsets; partitions without one are missing from the answer.
    public func committedOffsets(_ partitions: [KafkaTopicPartition]) throws(KafkaError) -> [KafkaTopicPartition: Int64]
    {
        try checkOpen()
        return try native.committed(partitions, timeout: .seconds(10))
    }

    /// The offsets that `next` will give next; partitions from which nothing was given yet are missing from the answer.
    public nonisolated func positions(
        _ partitions: [KafkaTopicPartition]
    ) throws(KafkaError) -> [KafkaTopicPartition: Int64] {
        let positions = try whileOpen { () throws(KafkaError) in try native.positions(partitions) }
        guard let positions else { throw KafkaConsumer.closed }
        return positions
    }

    /// Asks the partition's leader for its first and next offset.
    public func watermarks(_ partition: KafkaTopicPartition) throws(KafkaError) -> KafkaWatermarks {
        try checkOpen()
        return try native.watermarks(partition, timeout: .seconds(5))
    }

    /// How many messages the partition had beyond `position` at the last fetch; `nil` before the first.
    public nonisolated func lag(_ partition: KafkaTopicPartition, from position: Int64) -> Int64? {
        isClosing.withLock { isClosing in
            guard !isClosing, let known = native.knownWatermarks(partition) else { return nil }
            return max(0, known.high - position)
        }
    }

    /// Asks the brokers about a topic.
    public func metadata(_ topic: String) throws(KafkaError) -> KafkaTopicMetadata {
        try checkOpen()
        return try native.metadata(topic, timeout: .seconds(5))
    }

    // MARK: Ending

    /// Commits what is stored, leaves the group, and ends the client; `next` throws `closed` from then on. The rebalance handler
    /// is not called for the partitions given back by this.
    public nonisolated func close(deadline: Duration = .seconds(10)) async {
        isClosing.withLock { closing in
            if !closing { native.interrupt() }
            closing = true
        }
        await finish(deadline)
    }

    private func finish(_ deadline: Duration) {
        guard !isClosed else { return }
        isClosed = true
        native.close(deadline: deadline)
    }

    /// Calls what doesn't block while the client can't go away; `nil` when it is closed.
    @discardableResult
    private nonisolated func whileOpen<R>(_ body: () throws(KafkaError) -> R) throws(KafkaError) -> R? {
        let result = isClosing.withLock { closing -> Result<R?, KafkaError> in
            if closing { return .success(nil) }
            do throws(KafkaError) { return .success(try body()) } catch { return .failure(error) }
        }
        return try result.get()
    }

    private func checkOpen() throws(KafkaError) {
        if isClosing.withLock({ $0 }) { throw KafkaConsumer.closed }
    }

    private static let closed = KafkaError(.closed, "the consumer is closed")
}

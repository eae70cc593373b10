import EventLoop
import Logging

/// The result of `KafkaConsumer.next`.
public struct KafkaBatch: Sendable {
    /// Messages, in order within each partition.
    public internal(set) var messages: [KafkaMessage] = []
    /// Partitions whose end was reached after these messages; only with `KafkaConsumerOptions.reportsEnds`.
    public internal(set) var ends: [KafkaTopicPartition] = []
}

/// A change of the partitions that are assigned to a group member.
public enum KafkaRebalance: Sendable {
    /// These partitions are now assigned to this member, in addition to its earlier ones.
    case assigned([KafkaTopicPartition])
    /// These partitions go to other members when the handler returns: finish work in flight and store its offsets. When they are
    /// lost, other members may read them already, and offsets can't be stored any more.
    case revoked([KafkaTopicPartition], isLost: Bool)
}

/// Reads messages as a member of a group or from given offsets. It has a thread of its own, on which `next` waits.
///
/// Backpressure comes from calling `next`: the client fetches ahead up to `KafkaConsumerOptions.prefetchBytes`, and no further. But
/// a consumer that doesn't call `next` for five minutes leaves its group: to stop reading some partitions, `pause` them and keep
/// calling `next`.
public actor KafkaConsumer {
    /// Called between two batches when partitions are assigned or revoked; a revocation waits until it returns.
    public typealias RebalanceHandler = @Sendable (KafkaRebalance) async -> Void

    private let executor = ThreadExecutor(name: "kafka-consume")
    private let native: RDKafkaConsumer
    private let options: KafkaConsumerOptions
    private let logger: Logger
    private let isClosing = Locked(false)
    private var isClosed = false
    /// Whether the broker has refused this client since its last message.
    private var wasRefused = false
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

    /// Reads assigned partitions through a client that is shared with other consumers, of which none may read the same topics. Ends
    /// of partitions are reported.
    /// - Throws: `closed`; `configuration` that names the setting when one is refused.
    public init(sharing client: KafkaClient, logger: Logger = Logger(label: "kafka.consumer")) throws(KafkaError) {
        options = KafkaConsumerOptions(reportsEnds: true)
        self.logger = logger
        native = try RDKafkaConsumer(sharing: try client.native())
    }

    deinit { executor.stop() }

    // MARK: What to read

    /// Joins the group; partitions are assigned during the following calls of `next`.
    /// - Parameter onRebalance: called from within `next`.
    public func subscribe(to topics: [String], onRebalance: RebalanceHandler? = nil) throws(KafkaError) {
        try checkOpen()
        guard options.group != nil else { throw KafkaError(.configuration, "subscribing needs a group") }
        rebalance = onRebalance
        try native.subscribe(topics)
    }

    /// Reads exactly these partitions from these offsets on, without a group. Replaces the earlier assignment.
    /// - Throws: `configuration` when another consumer reads one of the topics through the same client.
    public func assign(_ offsets: [KafkaTopicPartition: KafkaOffset]) throws(KafkaError) {
        try checkOpen()
        try native.assign(offsets.map { ($0.key, $0.value) })
    }

    /// Stops returning messages of these partitions until `resume`. Messages that `next` has already returned aren't affected.
    public nonisolated func pause(_ partitions: [KafkaTopicPartition]) throws(KafkaError) {
        try whileOpen { () throws(KafkaError) in try native.pause(partitions) }
    }

    /// Ends a pause.
    public nonisolated func resume(_ partitions: [KafkaTopicPartition]) throws(KafkaError) {
        try whileOpen { () throws(KafkaError) in try native.resume(partitions) }
    }

    /// Continues at another offset of an assigned partition.
    public func seek(_ partition: KafkaTopicPartition, to offset: KafkaOffset) throws(KafkaError) {
        try checkOpen()
        try native.seek(partition, to: offset, timeout: .seconds(5))
    }

    // MARK: Reading

    /// Waits for the first message, and returns it with further available ones; an empty batch after `timeout`, when partitions
    /// moved, or when the task is cancelled.
    /// - Throws: fatal errors, and `closed`. Errors that the client handles by itself are logged; a broker that refuses the client, too, since
    ///   it is asked again until an operator has given the right, or the password.
    public func next(timeout: Duration = .seconds(1)) async throws(KafkaError) -> KafkaBatch {
        let native = native
        let events = try await withTaskCancellationHandler { () async -> Result<[RDKafkaConsumer.Event], KafkaError> in
            if Task.isCancelled { return .success([]) }
            do throws(KafkaError) { try checkOpen() } catch { return .failure(error) }
            return .success(native.poll(timeout: timeout, limit: options.batchLimit, byteLimit: options.batchBytes))
        } onCancel: {
            // Its queue may be gone: this also runs when a task that is cancelled already calls a closed consumer.
            wake()
        }.get()
        var batch = KafkaBatch()
        batch.messages.reserveCapacity(events.count)
        for event in events {
            switch event {
            case .message(let message):
                wasRefused = false
                batch.messages.append(message)
            case .endOfPartition(let partition): batch.ends.append(partition)
            case .assign(let partitions):
                try native.accept(partitions)
                await rebalance?(.assigned(partitions))
            case .revoke(let partitions, let isLost):
                await rebalance?(.revoked(partitions, isLost: isLost))
                // If it was closed meanwhile, `close` has answered the revocation.
                if !isClosed { try native.release(partitions) }
            case .error(let error, let partition): try report(error, partition)
            }
        }
        return batch
    }

    /// Makes a waiting `next`, or else the following one, return immediately with the available messages.
    public nonisolated func wake() {
        isClosing.withLock { closing in if !closing { native.interrupt() } }
    }

    private func report(_ error: KafkaError, _ partition: KafkaTopicPartition?) throws(KafkaError) {
        if error.isFatal { throw error }
        // Once, not for each attempt.
        let isRefused = error.code == .unauthorized
        defer { wasRefused = wasRefused || isRefused }
        logger.log(
            level: isRefused && !wasRefused ? .error : .debug, "the consumer reports",
            metadata: ["error": "\(error.message)", "error.code": "\(error.nativeCode)"])
    }

    // MARK: Offsets

    /// Stores the offsets at which reading continues after a restart: for each partition, the offset after the last message whose
    /// effect is complete. They are committed at intervals, when partitions are revoked, and at the end. Partitions of other
    /// members are ignored.
    public nonisolated func storeOffsets(_ next: [KafkaTopicPartition: Int64]) throws(KafkaError) {
        guard !next.isEmpty else { return }
        try whileOpen { () throws(KafkaError) in try native.store(next.map { ($0.key, $0.value) }) }
    }

    /// Commits the stored offsets, and waits for the broker.
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

    /// The offsets of the messages that `next` will return next; partitions of which it has returned none yet are missing from the
    /// answer.
    public nonisolated func positions(
        _ partitions: [KafkaTopicPartition]
    ) throws(KafkaError) -> [KafkaTopicPartition: Int64] {
        let positions = try whileOpen { () throws(KafkaError) in try native.positions(partitions) }
        guard let positions else { throw KafkaConsumer.closed }
        return positions
    }

    /// Queries the partition's leader for its first and next offset.
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

    /// Queries the brokers for a topic's metadata.
    public func metadata(_ topic: String) throws(KafkaError) -> KafkaTopicMetadata {
        try checkOpen()
        return try native.metadata(topic, timeout: .seconds(5))
    }

    // MARK: Ending

    /// Commits the stored offsets, leaves the group, and ends the client; later calls of `next` throw `closed`. The rebalance
    /// handler is not called for the partitions that this releases.
    ///
    /// Returns at the deadline at the latest. A group that is about to admit this member can't be left before it has, which may take
    /// until another member's handlers have ended: that goes on in the background.
    public nonisolated func close(deadline: Duration = .seconds(10)) async {
        isClosing.withLock { closing in
            if !closing { native.interrupt() }
            closing = true
        }
        let closed = Milestone()
        Task {
            await finish(deadline)
            closed.reach()
        }
        // A cancellation doesn't end it: who closes has to wait for the deadline.
        let timer = Task {
            try await Task.sleep(for: deadline)
            closed.reach()
        }
        await Task { try? await closed.wait() }.value
        timer.cancel()
    }

    private func finish(_ deadline: Duration) {
        guard !isClosed else { return }
        isClosed = true
        native.close(deadline: deadline)
    }

    /// Runs a non-blocking call while the client is prevented from closing; `nil` when it is closed.
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

import EventLoop
import Lifecycle
import Logging

/// Sends messages: idempotent, acknowledged by all in-sync replicas, in order per partition. It runs on a loop, where its delivery
/// reports arrive.
///
/// No message is dropped. When the messages in flight reach `KafkaProducerOptions.queueLimit`, `send` waits, so the number of
/// unacknowledged messages is bounded by the limit and by the waiting callers. Cancelling a waiting task doesn't revoke its
/// message: the call returns when the message is acknowledged or has failed, at the latest after the delivery timeout.
///
/// After a fatal error (the broker no longer accepts this producer's sequence) all messages in flight fail with
/// `KafkaError.Code.producerFailed`, and a new producer replaces the old one: callers have to send again.
///
/// It must be closed, either by `close()` or as a service of a group. It sends whether it runs as a service or not.
public actor KafkaProducer: LoopActor, Service {
    public nonisolated let loop: EventLoop

    /// The messages of one call, and the caller that waits for them.
    private final class Batch {
        let id: UInt
        let count: Int
        /// Emptied when all are passed to the client, which has copies of its own.
        var records: [KafkaRecord]
        var handedOver = 0
        var unsettled: Int
        var outcome: KafkaBatchOutcome
        let continuation: UnsafeContinuation<KafkaBatchOutcome, Never>

        init(id: UInt, records: [KafkaRecord], continuation: UnsafeContinuation<KafkaBatchOutcome, Never>) {
            self.id = id
            self.records = records
            count = records.count
            unsettled = records.count
            outcome = KafkaBatchOutcome(deliveries: [KafkaDelivery?](repeating: nil, count: records.count))
            self.continuation = continuation
        }

        /// - Returns: whether all messages of the batch have a result.
        func settle(_ index: Int, _ result: Result<KafkaDelivery, KafkaError>) -> Bool {
            switch result {
            case .success(let delivery): outcome.deliveries[index] = delivery
            case .failure(let error): outcome.failures.append(.init(index: index, error: error))
            }
            unsettled -= 1
            return unsettled == 0
        }
    }

    /// A message's tag consists of its batch's id and its index in the batch. Ids begin at 1, so that no tag is a null pointer.
    private static let indexBits: UInt = 24

    private let settings: [String: String]
    private let logger: Logger
    private var producer: RDKafkaProducer?
    private var isClosed = false
    private var nextBatch: UInt = 1
    private var batches: [UInt: Batch] = [:]
    /// The queue of batches with messages that aren't passed to the client yet; the first `waitingHead` are done.
    private var waiting: [Batch] = []
    private var waitingHead = 0
    private var flushers: [UnsafeContinuation<Void, Never>] = []
    private var rebuilds = 0

    /// Creates the producer; its client starts with the first message, on `loop`.
    public init(
        configuration: KafkaConfiguration, options: KafkaProducerOptions = KafkaProducerOptions(), loop: EventLoop,
        logger: Logger = Logger(label: "kafka.producer")
    ) {
        self.loop = loop
        self.logger = configuration.logger(logger)
        settings = configuration.settings(options.settings)
    }

    /// Sends one message.
    /// - Returns: its partition and offset, once all in-sync replicas have it.
    /// - Throws: `KafkaError`. After `timedOut` and `producerFailed` the message may still have arrived.
    @discardableResult
    public func send(_ record: KafkaRecord) async throws(KafkaError) -> KafkaDelivery {
        let outcome = try await sendBatch([record])
        try outcome.requireAll()
        guard let delivery = outcome.deliveries.first ?? nil else {
            preconditionFailure("an outcome without failure has all deliveries")
        }
        return delivery
    }

    /// Sends messages, and returns when all are acknowledged or have failed.
    ///
    /// Messages for the same partition keep their order, within a batch and with batches sent before. One message's failure does
    /// not stop the others: check the outcome, or call its `requireAll()`.
    /// - Throws: `configuration` when the client can't be started, `closed` after `close()`.
    public func sendBatch(_ records: [KafkaRecord]) async throws(KafkaError) -> KafkaBatchOutcome {
        guard records.count < 1 << Self.indexBits else {
            throw KafkaError(.configuration, "a batch of \(records.count) messages is too large")
        }
        try start()
        guard !records.isEmpty else { return KafkaBatchOutcome(deliveries: []) }
        return await withUnsafeContinuation { continuation in
            let batch = Batch(id: nextBatch, records: records, continuation: continuation)
            nextBatch += 1
            batches[batch.id] = batch
            waiting.append(batch)
            handOver()
        }
    }

    /// Returns when everything sent so far is acknowledged or has failed.
    public func flush() async {
        guard !batches.isEmpty else { return }
        await withUnsafeContinuation { flushers.append($0) }
    }

    /// Waits until the sent messages are acknowledged, for at most `deadline`, fails the rest with `closed`, and ends the client.
    public func close(deadline: Duration = .seconds(10)) async {
        guard !isClosed else { return }
        isClosed = true
        let flushed = Task { await self.flush() }  // ends at the latest when the remaining messages fail below
        let timer = Task {
            try await Task.sleep(for: deadline)
            failEverything(KafkaError(.closed, "the producer was closed before the broker acknowledged"))
        }
        await flushed.value
        timer.cancel()
        await retire()
    }

    /// Waits for a graceful shutdown or cancellation, and closes. In a group, it must precede the services that send.
    public func run() async throws {
        do { try await gracefulShutdown() } catch is CancellationError {
            // A cancellation closes it, too.
        }
        await close()
    }

    /// How often the producer was rebuilt after a fatal error.
    public var rebuildCount: Int { rebuilds }

    /// The number of messages that are not acknowledged yet.
    public var unacknowledged: Int { batches.values.reduce(0) { $0 + $1.unsettled } }

    // MARK: Starting and ending

    private func start() throws(KafkaError) {
        guard !isClosed else { throw KafkaError(.closed, "the producer is closed") }
        guard producer == nil else { return }
        producer = try RDKafkaProducer(settings: settings, loop: loop, logger: logger) { [weak self] in
            self?.assumeIsolated { $0.drain() }
        }
        // librdkafka notifies when its queue becomes non-empty. Events that it queued before the notification was enabled would
        // prevent one.
        drain()
    }

    private func retire() async {
        guard let producer else { return }
        self.producer = nil
        await producer.retire().destroyAside()
    }

    private func rebuild(after error: KafkaError) {
        rebuilds += 1
        logger.error(
            "the producer failed and is rebuilt",
            metadata: ["error": "\(error.message)", "error.code": "\(error.nativeCode)"])
        let failed = producer?.retire()
        producer = nil  // the next message starts a new one
        failEverything(
            KafkaError(.producerFailed, error.message, nativeCode: error.nativeCode, isRetriable: true, isFatal: true))
        // No caller waits for it: all its messages have failed above.
        if let failed { Task { await failed.destroyAside() } }
    }

    /// Raises a fatal error as a broker's answer could; for tests.
    func raiseFatalError() { producer?.raiseFatalError() }

    // MARK: Messages

    private func handOver() {
        guard let producer else { return }
        while waitingHead < waiting.count {
            let batch = waiting[waitingHead]
            while batch.handedOver < batch.count {
                let index = batch.handedOver
                switch producer.produce(batch.records[index], tag: batch.id << Self.indexBits | UInt(index)) {
                case nil: break
                case .queueFull:
                    if waitingHead > 64 {
                        waiting.removeFirst(waitingHead)
                        waitingHead = 0
                    }
                    return
                case .error(let error): settle(batch, index, .failure(error))
                }
                batch.handedOver += 1
            }
            batch.records = []
            waitingHead += 1
        }
        waiting.removeAll(keepingCapacity: true)
        waitingHead = 0
    }

    private func drain() {
        var fatal: KafkaError?
        var last: Batch?
        producer?.drain { event in
            switch event {
            case .delivered(let tag, let delivery): settle(tag, .success(delivery), &last)
            case .failed(let tag, let error):
                settle(tag, .failure(error), &last)
                if error.isFatal { fatal = error }
            case .fatal(let error): fatal = error
            case .error(let error):
                logger.debug("the producer reports", metadata: ["error": "\(error.message)"])
            }
        }
        if let fatal { rebuild(after: fatal) } else { handOver() }
    }

    private func settle(_ tag: UInt, _ result: Result<KafkaDelivery, KafkaError>, _ last: inout Batch?) {
        let id = tag >> Self.indexBits
        if last?.id != id { last = batches[id] }
        guard let batch = last else { return }
        settle(batch, Int(tag & ((1 << Self.indexBits) - 1)), result)
    }

    private func settle(_ batch: Batch, _ index: Int, _ result: Result<KafkaDelivery, KafkaError>) {
        guard batch.settle(index, result) else { return }
        batches[batch.id] = nil
        batch.continuation.resume(returning: batch.outcome)
        resumeFlushers()
    }

    private func failEverything(_ error: KafkaError) {
        waiting.removeAll()
        waitingHead = 0
        for batch in batches.values {
            let failed = Set(batch.outcome.failures.map(\.index))
            for index in 0..<batch.count where batch.outcome.deliveries[index] == nil && !failed.contains(index) {
                batch.outcome.failures.append(.init(index: index, error: error))
            }
            batch.continuation.resume(returning: batch.outcome)
        }
        batches.removeAll()
        resumeFlushers()
    }

    private func resumeFlushers() {
        guard batches.isEmpty else { return }
        for flusher in flushers { flusher.resume() }
        flushers.removeAll()
    }
}

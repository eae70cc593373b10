import DocumentModel
import EventLoop
import EventStream
import EventTopics
import Foundation
import Lifecycle
import Logging

/// Sends heartbeats on every Kafka partition of `permission-grants`: a gateway that doesn't receive them stops serving by itself.
struct GrantHeartbeats: Service {
    let producer: EventProducer
    let interval: Duration
    /// How long a gateway may serve after a heartbeat.
    let validity: Duration
    /// Returns when the changes are handled that had been committed when it was called; `false` if they aren't handled in time.
    let catchUp: @Sendable () async throws -> Bool
    private let report: FailureReport
    private let underWay = Locked(UnderWay())
    /// When the last heartbeat was sent that has reached each Kafka partition.
    private let arrived = Locked<[Int32: ContinuousClock.Instant]>([:])

    private static var partitions: Range<Int32> { 0..<Int32(GrantsEvent.topic.contract.partitions) }

    private struct UnderWay {
        /// Whether a batch with a heartbeat for every partition is in flight.
        var isWhole = false
        /// Partitions with a separate heartbeat in flight: a second one behind it would add nothing, and arrive late.
        var partitions: Set<Int32> = []

        /// The batches of partitions to send heartbeats to now.
        mutating func begin() -> [[Int32]] {
            let all = GrantHeartbeats.partitions
            // A batch costs the producer as much as a single message. When a batch hangs, further heartbeats are sent separately
            // for each partition.
            if !isWhole, partitions.isEmpty {
                isWhole = true
                return [Array(all)]
            }
            let free = all.filter { !partitions.contains($0) }
            partitions.formUnion(free)
            return free.map { [$0] }
        }

        mutating func end(_ sent: [Int32]) {
            if sent.count > 1 { isWhole = false } else { partitions.subtract(sent) }
        }
    }

    init(
        producer: EventProducer, interval: Duration, validity: Duration, logger: Logger,
        catchUp: @escaping @Sendable () async throws -> Bool
    ) {
        self.catchUp = catchUp
        self.producer = producer
        self.interval = interval
        self.validity = validity
        report = FailureReport("grant-heartbeats", logger: logger)
    }

    func run() async throws {
        try? await cancelWhenGracefulShutdown {  // ends by cancellation only
            let sender = UUID().uuidString.lowercased()
            try await withThrowingDiscardingTaskGroup { group in
                var number: Int64 = 0
                var current: ContinuousClock.Instant?
                while !Task.isCancelled {
                    if isLate(since: current) {
                        try await becomeCurrent(as: sender)
                        current = .now
                    }
                    number += 1
                    for partitions in underWay.withLock({ $0.begin() }) {
                        group.addTask { [number] in await send(from: sender, number: number, to: partitions) }
                    }
                    try await Task.sleep(for: interval)
                }
            }
        }
    }

    /// Whether gateways may have stopped serving, because no heartbeat has reached them: this process has just started, stood still, or
    /// was cut off from the broker, which may have stood still itself.
    /// - Parameter current: when this process had handled what it could have missed.
    private func isLate(since current: ContinuousClock.Instant?) -> Bool {
        guard let current else { return true }
        let arrived = arrived.withLock { arrived in Self.partitions.map { arrived[$0] ?? current }.min() ?? current }
        return ContinuousClock.now - max(current, arrived) > patience
    }

    private var patience: Duration { interval + validity / 2 }

    /// Waits until the broker answers and the changes are handled that were committed before: some may revoke grants. With a heartbeat
    /// before that, gateways would send what they have withheld since.
    private func becomeCurrent(as sender: String) async throws {
        var backoff = RetryBackoff(.reconnecting)
        while true {
            // Changes come by the broker, so that the time in which they have to be handled begins when it answers. These heartbeats
            // are valid for no time.
            guard await deliver(from: sender, number: 0, to: Array(Self.partitions), validity: .zero) else {
                try await Task.sleep(for: backoff.next())  // the broker doesn't tell when it is back
                continue
            }
            let start = ContinuousClock.now
            let isHandled = try await catchUp()
            // What was committed meanwhile comes as fast as always, unless it was long.
            if !isHandled || ContinuousClock.now - start <= patience { return }
        }
    }

    private func send(from sender: String, number: Int64, to partitions: [Int32]) async {
        defer { underWay.withLock { $0.end(partitions) } }
        let time = ContinuousClock.now
        if await deliver(from: sender, number: number, to: partitions, validity: validity) {
            // One of a former batch may arrive behind a newer one.
            arrived.withLock { arrived in
                for partition in partitions { arrived[partition] = max(arrived[partition] ?? time, time) }
            }
        }
    }

    /// - Returns: whether the broker has them.
    private func deliver(from sender: String, number: Int64, to partitions: [Int32], validity: Duration) async -> Bool {
        let time = WallClock.system.now()
        let beats = partitions.map { partition in
            GrantsEvent.heartbeat(
                GrantHeartbeat(
                    kafkaPartition: partition, sender: sender, number: number, time: time,
                    validFor: Int64(validity / .milliseconds(1))))
        }
        do {
            let outcome = try await producer.send(beats) { event in
                if case .heartbeat(let beat) = event { beat.kafkaPartition } else { nil }
            }
            try outcome.requireAll()
            report.succeeded("heartbeats are sent again")
            return true
        } catch {
            report.failed("heartbeats can't be sent now; gateways suspend the partitions they serve", error)
            return false
        }
    }
}

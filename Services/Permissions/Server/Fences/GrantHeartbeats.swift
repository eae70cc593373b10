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
    /// Returns when the changes are handled that had been committed when it was called.
    let catchUp: @Sendable () async throws -> Void
    let logger: Logger
    private let underWay = Locked(UnderWay())

    private struct UnderWay {
        /// Whether a batch with a heartbeat for every partition is in flight.
        var isWhole = false
        /// Partitions with a separate heartbeat in flight: a second one behind it would add nothing, and arrive late.
        var partitions: Set<Int32> = []

        /// The batches of partitions to send heartbeats to now.
        mutating func begin() -> [[Int32]] {
            let all = 0..<Int32(GrantsEvent.topic.contract.partitions)
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
        catchUp: @escaping @Sendable () async throws -> Void
    ) {
        self.catchUp = catchUp
        self.producer = producer
        self.interval = interval
        self.validity = validity
        self.logger = logger
    }

    func run() async throws {
        try? await cancelWhenGracefulShutdown {  // ends by cancellation only
            let sender = UUID().uuidString.lowercased()
            try await withThrowingDiscardingTaskGroup { group in
                var number: Int64 = 0
                var last: ContinuousClock.Instant?
                while !Task.isCancelled {
                    // A process that starts, or stood still, has missed changes that may revoke grants. With a heartbeat before it has
                    // handled them, gateways would send what they have withheld since.
                    if last.map({ ContinuousClock.now - $0 > interval + validity / 2 }) ?? true { try await catchUp() }
                    last = .now
                    number += 1
                    for partitions in underWay.withLock({ $0.begin() }) {
                        group.addTask { [number] in await send(from: sender, number: number, to: partitions) }
                    }
                    try await Task.sleep(for: interval)
                }
            }
        }
    }

    private func send(from sender: String, number: Int64, to partitions: [Int32]) async {
        defer { underWay.withLock { $0.end(partitions) } }
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
        } catch {
            logger.debug("a heartbeat was not sent", metadata: ["error": "\(error)"])
        }
    }
}

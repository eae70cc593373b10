import EventLoop
import EventStream
import EventTopics
import Foundation
import Lifecycle
import Logging

/// Sends a sign of life on every Kafka partition of `permission-grants`: a gateway that doesn't see them stops serving by itself.
struct GrantHeartbeats: Service {
    let producer: EventProducer
    let interval: Duration
    /// How long a gateway may serve by one.
    let validity: Duration
    let logger: Logger
    /// The Kafka partitions to which one is under way: behind it a second one would say nothing, and come late.
    private let underWay = Locked<Set<Int32>>([])

    init(producer: EventProducer, interval: Duration, validity: Duration, logger: Logger) {
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
                while !Task.isCancelled {
                    number += 1
                    for partition in 0..<Int32(GrantsEvent.topic.contract.partitions)
                    where underWay.withLock({ $0.insert(partition).inserted }) {
                        group.addTask { [number] in await send(from: sender, number: number, to: partition) }
                    }
                    try await Task.sleep(for: interval)
                }
            }
        }
    }

    private func send(from sender: String, number: Int64, to partition: Int32) async {
        defer { underWay.withLock { _ = $0.remove(partition) } }
        let beat = GrantHeartbeat(
            kafkaPartition: partition, sender: sender, number: number, time: Int64(Date().timeIntervalSince1970 * 1000),
            validFor: Int64(validity / .milliseconds(1)))
        do {
            try await producer.send(GrantsEvent.heartbeat(beat), partition: partition)
        } catch {
            logger.debug("a heartbeat was not sent", metadata: ["error": "\(error)"])
        }
    }
}

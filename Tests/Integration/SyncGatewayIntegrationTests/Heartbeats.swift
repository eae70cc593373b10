import DocumentModel
import EventLoop
import EventStream
import EventTopics
import Foundation

/// The heartbeats of permissions, until they are stopped.
final class Heartbeats: Sendable {
    private let isPaused = Locked(false)
    private let silent = Locked<Int32?>(nil)

    init(_ events: EventProducer, validity: Duration) {
        // Runs as long as the test process.
        Task { [self] in
            var number: Int64 = 0
            while true {
                number += 1
                // Concurrently: on a busy machine, waiting for one answer after the other takes longer than a heartbeat is valid.
                await withDiscardingTaskGroup { group in
                    for partition in 0..<Int32(GrantsEvent.topic.partitions)
                    where !isPaused.withLock({ $0 }) && silent.withLock({ $0 != partition }) {
                        let beat = GrantHeartbeat(
                            kafkaPartition: partition, sender: "tests", number: number,
                            time: Int64(Date().timeIntervalSince1970 * 1000),
                            validFor: Int64(validity / .milliseconds(1)))
                        // Before the gateway has created the topic there is no reader.
                        group.addTask { _ = try? await events.send(GrantsEvent.heartbeat(beat), partition: partition) }
                    }
                }
                try await Task.sleep(for: .milliseconds(200))
            }
        }
    }

    /// Stops all heartbeats.
    func pause() { isPaused.withLock { $0 = true } }

    /// Stops the heartbeats of one Kafka partition.
    func silence(_ partition: Int32) { silent.withLock { $0 = partition } }

    func resume() {
        isPaused.withLock { $0 = false }
        silent.withLock { $0 = nil }
    }
}

import DocumentModel
import EventLoop
import EventStream
import EventTopics
import Foundation

/// Permissions' signs of life, as long as nobody stops them.
final class Heartbeats: Sendable {
    private let isPaused = Locked(false)
    private let silent = Locked<Int32?>(nil)

    init(_ events: EventProducer, validity: Duration) {
        // Runs as long as the test process.
        Task { [self] in
            var number: Int64 = 0
            while true {
                number += 1
                // All at once: on a busy machine one broker's answer after the other takes longer than a beat is valid.
                await withDiscardingTaskGroup { group in
                    for partition in 0..<Int32(GrantsEvent.topic.partitions)
                    where !isPaused.withLock({ $0 }) && silent.withLock({ $0 != partition }) {
                        let beat = GrantHeartbeat(
                            kafkaPartition: partition, sender: "tests", number: number,
                            time: Int64(Date().timeIntervalSince1970 * 1000),
                            validFor: Int64(validity / .milliseconds(1)))
                        // Before the gateway has made the topic there is nobody to hear it.
                        group.addTask { _ = try? await events.send(GrantsEvent.heartbeat(beat), partition: partition) }
                    }
                }
                try await Task.sleep(for: .milliseconds(200))
            }
        }
    }

    /// Permissions is gone.
    func pause() { isPaused.withLock { $0 = true } }

    /// One Kafka partition moves no more.
    func silence(_ partition: Int32) { silent.withLock { $0 = partition } }

    func resume() {
        isPaused.withLock { $0 = false }
        silent.withLock { $0 = nil }
    }
}

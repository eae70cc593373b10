import EventStream
import EventTopics
import Foundation
import Lifecycle
import Logging

/// Sends a sign of life on every Kafka partition of `permission-grants`: a gateway that doesn't see them stops serving by itself.
struct GrantHeartbeats: Service {
    let producer: EventProducer
    let interval: Duration
    let logger: Logger

    func run() async throws {
        try? await cancelWhenGracefulShutdown {  // ends by cancellation only
            let sender = UUID().uuidString.lowercased()
            var number: Int64 = 0
            while !Task.isCancelled {
                number += 1
                await send(from: sender, number: number)
                try await Task.sleep(for: interval)
            }
        }
    }

    private func send(from sender: String, number: Int64) async {
        await withTaskGroup { group in
            for partition in 0..<Int32(GrantsEvent.topic.contract.partitions) {
                group.addTask {
                    let beat = GrantHeartbeat(
                        kafkaPartition: partition, sender: sender, number: number,
                        time: Int64(Date().timeIntervalSince1970 * 1000))
                    do {
                        try await producer.send(GrantsEvent.heartbeat(beat), partition: partition)
                    } catch {
                        logger.debug("a heartbeat was not sent", metadata: ["error": "\(error)"])
                    }
                }
            }
        }
    }
}

import DocumentModel
import EventLoop
import EventStream
import EventTopics
import Kafka
import TestSupport

/// The receipts of revocations from now on.
final class Receipts: Sendable {
    private let received = Locked<[RevocationReceipt]>([])
    private let reading: Task<Void, any Error>

    init(_ system: RunningSystem) async throws {
        let tail = EventTail<RevocationReceipt>(
            pool: "main",
            kafka: KafkaClient(
                configuration: KafkaConfiguration(
                    bootstrapServers: try system.setting("kafka.bootstrap"),
                    embedded: try system.setting("kafka.embedded") == "true"))
        ) { [received] events in
            for event in events {
                let receipt = try event.decoded().payload
                received.withLock { $0.append(receipt) }
            }
        }
        reading = Task { try await tail.run() }
        try await tail.waitUntilPositioned()
    }

    func receipt(of user: String, _ partition: Partition, within deadline: Duration) async throws -> RevocationReceipt {
        try await eventually("a receipt", within: deadline) {
            received.withLock { $0.first { $0.user == user && $0.partition == partition } }
        }
    }

    func stop() { reading.cancel() }
}

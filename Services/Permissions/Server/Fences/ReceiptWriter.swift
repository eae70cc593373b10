import EventStream
import EventTopics
import Gateways
import Lifecycle
import Logging

/// Publishes the receipt of a revocation, once every gateway has stopped serving the pair: because it said so, or because its lease has run
/// out.
struct ReceiptWriter: Service {
    let fences: FenceTable
    let gateways: GatewayRegistry
    let producer: EventProducer
    /// How long a heartbeat is valid.
    let leaseTime: Duration
    let logger: Logger

    /// By how much the clocks of two machines may differ.
    static let clockMargin = Duration.seconds(1)
    private static let interval = Duration.milliseconds(250)
    private static let roundsPerCleaning = 240

    func run() async throws {
        try? await cancelWhenGracefulShutdown {  // ends by cancellation only
            var round = 0
            while !Task.isCancelled {
                do {
                    try await writeReceipts()
                    if round % Self.roundsPerCleaning == 0 { try await gateways.forgetSilent() }
                } catch {
                    logger.debug("receipts wait", metadata: ["error": "\(error)"])
                }
                round += 1
                try await Task.sleep(for: Self.interval)
            }
        }
    }

    /// Those that are due. One that is written twice is the same event.
    func writeReceipts() async throws {
        for receipt in try await fences.completed(leaseTime: leaseTime + Self.clockMargin) {
            try await producer.send(receipt)
            try await fences.close(receipt)
            if !receipt.lapsed.isEmpty {
                logger.warning(
                    "gateways didn't answer a revocation, their leases have run out",
                    metadata: ["partition.id": "\(receipt.partition)", "gateways": "\(receipt.lapsed)"])
            }
        }
    }
}

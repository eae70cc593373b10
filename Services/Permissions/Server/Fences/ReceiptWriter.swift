import EventLoop
import EventStream
import EventTopics
import Grants
import Lifecycle
import Logging

/// Publishes the receipt of a revocation, once every gateway has stopped serving the pair: because it has acknowledged the
/// revocation, or because its lease has expired.
struct ReceiptWriter: Service {
    let fences: FenceTable
    let gateways: GatewayRegistry
    let producer: EventProducer
    /// How long a heartbeat is valid.
    let leaseTime: Duration
    /// Set when a revocation was published, and when a gateway has answered one.
    let alarm: Alarm
    let logger: Logger

    /// By how much the clocks of two machines may differ.
    static let clockMargin = Duration.seconds(1)
    /// How long it takes at most to find revocations whose process has ended.
    private static let interval = Duration.seconds(5)
    private static let cleaningInterval = Duration.seconds(60)

    private var lapseTime: Duration { leaseTime + Self.clockMargin }

    func run() async throws {
        try? await cancelWhenGracefulShutdown {  // ends by cancellation only
            await withTaskGroup { group in
                group.addTask { await self.writeAsTheyCome() }
                group.addTask { await self.clean() }
            }
        }
    }

    private func writeAsTheyCome() async {
        let report = FailureReport("revocation-receipts", logger: logger)
        repeat {
            var wait = Self.interval
            do {
                try await writeReceipts()
                if let next = try await fences.nextLapse(leaseTime: lapseTime) { wait = min(wait, next) }
                report.succeeded("receipts of revocations are written again")
            } catch {
                report.failed("the receipts of revocations can't be written now", error)
            }
            alarm.set(.now + wait)
        } while (try? await alarm.ring()) != nil
    }

    private func clean() async {
        let report = FailureReport("silent-gateways", logger: logger)
        while !Task.isCancelled {
            do {
                try await gateways.forgetSilent()
                report.succeeded("silent gateways are forgotten again")
            } catch {
                report.failed("silent gateways stay in the registry", error)
            }
            try? await Task.sleep(for: Self.cleaningInterval)  // cancelled: the loop's condition ends it
        }
    }

    /// Publishes the receipts that are due. A receipt that is published twice is the same event.
    private func writeReceipts() async throws {
        let receipts = try await fences.completed(leaseTime: lapseTime)
        if receipts.isEmpty { return }
        let failures = try await producer.send(receipts).failures
        for (index, receipt) in receipts.enumerated() where !failures.contains(where: { $0.index == index }) {
            try await fences.close(receipt)
            if !receipt.lapsed.isEmpty {
                logger.warning(
                    "gateways didn't acknowledge a revocation, their leases have expired",
                    metadata: ["partition.id": "\(receipt.partition)", "gateways": "\(receipt.lapsed)"])
            }
        }
        if let failure = failures.first { throw failure.error }
    }
}

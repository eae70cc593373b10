import Cmalloc
import Lifecycle

/// Gives memory back to the system that a burst has left behind. The allocator keeps what is freed in between of what is still used: a
/// service would keep the memory of the largest crowd that it ever had.
///
/// It takes some ten milliseconds for half a gigabyte, in which allocations may wait. So it is done once the service has little to do, and
/// only again when its memory has grown.
package struct MemoryRelease: Service {
    /// How often it is looked whether there is anything to give back.
    private let interval: Duration

    /// Memory below which it isn't worth it, and the growth from which on it is again, in bytes.
    private static let least = 96.0 * 1_048_576
    private static let growth = 32.0 * 1_048_576
    /// The share of a core below which a service has little to do.
    private static let idleShare = 0.25

    package init(interval: Duration = .seconds(15)) { self.interval = interval }

    package func run() async throws {
        try? await cancelWhenGracefulShutdown {  // ends by cancellation only
            var left = 0.0
            var before = ProcessMetrics.processorSeconds()
            while !Task.isCancelled {
                try await Task.sleep(for: interval)  // the allocator reports nothing
                let resident = ProcessMetrics.residentBytes(), used = ProcessMetrics.processorSeconds()
                let share = (used - before) / (interval / .seconds(1))
                before = used
                left = min(left, resident)
                guard resident > Self.least, resident > left + Self.growth, share < Self.idleShare else { continue }
                malloc_trim(0)
                left = ProcessMetrics.residentBytes()
            }
        }
    }
}

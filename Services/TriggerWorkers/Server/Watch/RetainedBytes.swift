import EventLoop

/// Counts the bytes of the changes that wait for at least one stream.
final class RetainedBytes: Sendable {
    private let count = Locked(0)

    /// The number of bytes.
    var value: Int { count.withLock { $0 } }

    func add(_ bytes: Int) {
        let total = count.withLock { count in
            count += bytes
            return count
        }
        TriggerMetrics.watchedBytes.set(total)
    }

    func remove(_ bytes: Int) { add(-bytes) }
}

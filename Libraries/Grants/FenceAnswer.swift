import EventLoop

/// Waits until all followers in this gateway that served a revoked user in a partition have stopped.
public final class FenceAnswer: Sendable {
    private let left: Locked<Int>
    private let whenStopped: @Sendable () -> Void

    /// - Parameters:
    ///   - count: the number of followers that have to call ``stopped()``.
    ///   - whenStopped: called once, when all have stopped; immediately if `count` is 0.
    init(count: Int, whenStopped: @escaping @Sendable () -> Void) {
        left = Locked(count)
        self.whenStopped = whenStopped
        if count == 0 { whenStopped() }
    }

    /// Records that one follower has stopped: the kernel has taken what it sent, or its connection is reset.
    public func stopped() {
        let isLast = left.withLock { left in
            left -= 1
            return left == 0
        }
        if isLast { whenStopped() }
    }
}

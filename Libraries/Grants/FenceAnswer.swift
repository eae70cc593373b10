import EventLoop
import SyncEngine

/// Waits until all followers in this gateway that served a revoked user in a partition have stopped.
public final class FenceAnswer: Sendable {
    private let left: Locked<FenceCountdown>
    private let whenStopped: @Sendable () -> Void

    /// - Parameters:
    ///   - count: the number of followers that have to call ``stopped()``.
    ///   - whenStopped: called once, when all have stopped; immediately if `count` is 0.
    init(count: Int, whenStopped: @escaping @Sendable () -> Void) {
        let countdown = FenceCountdown(followers: count)
        left = Locked(countdown)
        self.whenStopped = whenStopped
        if countdown.isDone { whenStopped() }
    }

    /// Records that one follower has stopped: the kernel has taken what it sent, or its connection is reset.
    public func stopped() {
        if left.withLock({ $0.stopped() }) { whenStopped() }
    }
}

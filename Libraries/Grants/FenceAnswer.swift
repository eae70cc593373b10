import EventLoop

/// Waits until everybody in this gateway who served a revoked pair has stopped.
public final class FenceAnswer: Sendable {
    private let left: Locked<Int>
    private let whenStopped: @Sendable () -> Void

    /// - Parameters:
    ///   - count: how many have to say that they have stopped.
    ///   - whenStopped: called once; at once when there is nobody.
    init(count: Int, whenStopped: @escaping @Sendable () -> Void) {
        left = Locked(count)
        self.whenStopped = whenStopped
        if count == 0 { whenStopped() }
    }

    /// One of them has stopped: what it sent is with the kernel, or its connection is reset.
    public func stopped() {
        let isLast = left.withLock { left in
            left -= 1
            return left == 0
        }
        if isLast { whenStopped() }
    }
}

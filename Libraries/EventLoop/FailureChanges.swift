/// Detects when a failure differs from the last one, so that an operation that is retried logs only changes of the cause.
package struct FailureChanges: Sendable {
    private var last: String?
    private var saidAt = ContinuousClock.now

    package init() {}

    /// Whether the failure has to be logged.
    /// - Parameter pause: the time after which an unchanged cause is logged again; `nil` for never.
    package mutating func isNew(_ cause: String, again pause: Duration? = nil) -> Bool {
        let now = ContinuousClock.now
        if last == cause, pause.map({ now - saidAt < $0 }) ?? true { return false }
        last = cause
        saidAt = now
        return true
    }

    /// Call it when the operation succeeds.
    /// - Returns: whether the recovery has to be logged.
    package mutating func recovered() -> Bool {
        defer { last = nil }
        return last != nil
    }
}

/// Tells when a failure is another one than the last, so that what is tried again and again is said once per change of cause.
package struct FailureChanges: Sendable {
    private var last: String?
    private var saidAt = ContinuousClock.now

    package init() {}

    /// Whether this has to be said.
    /// - Parameter pause: after which it is said again, though it is the same; `nil` for never.
    package mutating func isNew(_ cause: String, again pause: Duration? = nil) -> Bool {
        let now = ContinuousClock.now
        if last == cause, pause.map({ now - saidAt < $0 }) ?? true { return false }
        last = cause
        saidAt = now
        return true
    }

    /// It works again.
    /// - Returns: whether that has to be said.
    package mutating func recovered() -> Bool {
        defer { last = nil }
        return last != nil
    }
}

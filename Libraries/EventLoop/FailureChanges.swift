/// Tells when a failure is another one than the last, so that what is tried again and again is said once per change of cause.
package struct FailureChanges: Sendable {
    private var last: String?

    package init() {}

    /// Whether this has to be said.
    package mutating func isNew(_ cause: String) -> Bool {
        defer { last = cause }
        return last != cause
    }

    /// It works again.
    /// - Returns: whether that has to be said.
    package mutating func recovered() -> Bool {
        defer { last = nil }
        return last != nil
    }
}

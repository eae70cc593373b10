/// Counts the failures of one thing that is tried again and again, for a `RetrySchedule`.
package struct RetryBackoff: Sendable {
    private let schedule: RetrySchedule
    /// The failures since the last success.
    package private(set) var failures = 0

    package init(_ schedule: RetrySchedule) { self.schedule = schedule }

    /// Another failure.
    /// - Returns: how long to wait.
    package mutating func next() -> Duration {
        failures += 1
        return schedule.delay(after: failures)
    }

    /// It has worked.
    package mutating func reset() { failures = 0 }
}

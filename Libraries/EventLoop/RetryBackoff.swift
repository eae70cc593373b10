/// Counts the failures of a retried operation, for a `RetrySchedule`.
package struct RetryBackoff: Sendable {
    private let schedule: RetrySchedule
    /// The failures since the last success.
    package private(set) var failures = 0

    package init(_ schedule: RetrySchedule) { self.schedule = schedule }

    /// Records another failure.
    /// - Returns: the time to wait before the next attempt.
    package mutating func next() -> Duration {
        failures += 1
        return schedule.delay(after: failures)
    }

    /// Call it when the operation has succeeded.
    package mutating func reset() { failures = 0 }
}

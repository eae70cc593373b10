import EventLoop

/// Remembers when the server last reported that it lacks disk or memory, or doesn't accept writes. Reads continue in that state, so
/// nothing else would show it.
final class Shortages: Sendable {
    private let last = Locked<(error: PostgresError, at: ContinuousClock.Instant)?>(nil)

    /// Records the error of a statement if it shows a shortage.
    func note(_ error: PostgresError) {
        guard let sqlstate = error.sqlstate, error.failureClass == .later else { return }
        if sqlstate.hasPrefix("53") || sqlstate == "25006" { last.withLock { $0 = (error, .now) } }
    }

    /// - Throws: the last shortage, if it was reported within this time.
    func check(within time: Duration) throws(PostgresError) {
        if let last = last.withLock({ $0 }), last.at + time > .now { throw last.error }
    }
}

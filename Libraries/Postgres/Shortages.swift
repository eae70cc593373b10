import EventLoop

/// When the server last said that it lacks disk or memory, or takes no writes. Reads go on meanwhile, so that nothing else shows it.
final class Shortages: Sendable {
    private let last = Locked<(error: PostgresError, at: ContinuousClock.Instant)?>(nil)

    /// Looks at what a statement failed with.
    func note(_ error: PostgresError) {
        guard let sqlstate = error.sqlstate, error.failureClass == .later else { return }
        if sqlstate.hasPrefix("53") || sqlstate == "25006" { last.withLock { $0 = (error, .now) } }
    }

    /// - Throws: what was said within this time, if anything was.
    func check(within time: Duration) throws(PostgresError) {
        if let last = last.withLock({ $0 }), last.at + time > .now { throw last.error }
    }
}

/// A task waits at it for the earliest of moments that others set: what has to be done by then, without looking again and again whether
/// there is something to do.
public final class Alarm: Sendable {
    private let due = Locked<ContinuousClock.Instant?>(nil)
    private let wakes: AsyncStream<Void>
    private let wake: AsyncStream<Void>.Continuation

    /// Makes one for which no moment is set.
    public init() { (wakes, wake) = AsyncStream.makeStream(bufferingPolicy: .bufferingNewest(1)) }

    /// Lets ``ring()`` return at this moment; an earlier one that is set stays.
    public func set(_ moment: ContinuousClock.Instant = .now) {
        let isEarliest = due.withLock { due in
            if let due, due <= moment { return false }
            due = moment
            return true
        }
        if isEarliest { wake.yield() }
    }

    /// Returns when the earliest moment has come that was set; none is set then. One task at a time.
    /// - Throws: `CancellationError`; a later call does so too.
    public func ring() async throws {
        while true {
            try Task.checkCancellation()
            let now = ContinuousClock.now
            let moment = due.withLock { due in
                let moment = due
                if let moment, moment <= now { due = nil }
                return moment
            }
            if let moment, moment <= now { return }
            await wait(until: moment)
        }
    }

    /// Returns then, or earlier.
    private func wait(until moment: ContinuousClock.Instant?) async {
        let sleeper = moment.map { moment in
            Task {  // ends by being cancelled just below
                try await Task.sleep(until: moment)
                wake.yield()
            }
        }
        for await _ in wakes { break }
        sleeper?.cancel()
    }
}

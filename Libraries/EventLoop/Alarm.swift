/// Lets a task wait for the earliest of the times that other tasks set, so that it needn't poll for due work.
public final class Alarm: Sendable {
    private let due = Locked<ContinuousClock.Instant?>(nil)
    private let wakes: AsyncStream<Void>
    private let wake: AsyncStream<Void>.Continuation

    /// Makes an alarm without a time.
    public init() { (wakes, wake) = AsyncStream.makeStream(bufferingPolicy: .bufferingNewest(1)) }

    /// Makes ``ring()`` return at this time, unless an earlier one is set.
    public func set(_ moment: ContinuousClock.Instant = .now) {
        let isEarliest = due.withLock { due in
            if let due, due <= moment { return false }
            due = moment
            return true
        }
        if isEarliest { wake.yield() }
    }

    /// Returns at the earliest time that was set, and clears it. Only one task may call it at a time.
    /// - Throws: `CancellationError`; later calls then throw it, too.
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

    /// Returns at this time or earlier.
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

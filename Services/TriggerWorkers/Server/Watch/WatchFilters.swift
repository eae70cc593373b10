import DocumentModel
import EventLoop

/// Evaluates the filters of the streams of changes: one at a time, in turns by app and user, so that they don't take the threads on which other
/// calls are evaluated. A user whose filters take much waits between the changes, and others don't wait behind them.
struct WatchFilters: Sendable {
    private let gate = FairGate<ExactText>(places: 1, waiting: 0)
    private let budget = TimeBudget(share: 0.05, total: 0.5, allowance: .milliseconds(200))

    /// Evaluates a filter in the user's turn. Each stream has its number of waiting changes, which bounds how many wait here.
    /// - Throws: What `body` throws; `CancellationError`.
    func evaluate(of app: String, by user: String, _ body: () throws -> Bool) async throws -> Bool {
        let owner = ExactText(app), member = ExactText(user)
        try await gate.enter(owner, member: member, isCounted: false)
        let start = ContinuousClock.now
        let result = Result { try body() }
        let wait = budget.charge(.now - start, of: Fingerprint("\(app)/\(user)".utf8).value)
        gate.leave(owner, member: member)
        // The stream that has taken much waits; its end needn't.
        if let wait, case .success = result { try await Task.sleep(for: wait) }
        return try result.get()
    }
}

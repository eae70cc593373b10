/// Limits the share of a processor that each sender may take for work that runs on the loops: what they spend at once, beyond a first
/// allowance, has to be waited for.
package final class TimeBudget: Sendable {
    private struct Debt {
        var spent: Duration
        var at: ContinuousClock.Instant
    }

    private struct State {
        var debts: [UInt64: Debt] = [:]
        var nextCleaning = 1024
    }

    private let share: Double
    private let allowance: Duration
    private let state = Locked(State())

    /// - Parameters:
    ///   - share: The share of one processor that a sender may take for long, above 0 and up to 1.
    ///   - allowance: What a sender may spend at once.
    package init(share: Double, allowance: Duration) {
        self.share = share
        self.allowance = allowance
    }

    /// Charges what a sender has spent.
    ///
    /// - Returns: How long the sender has to wait before more is done for it; `nil` when it needn't.
    package func charge(_ time: Duration, of sender: UInt64, now: ContinuousClock.Instant = .now) -> Duration? {
        state.withLock { state in
            var debt = state.debts[sender].map { settled($0, now) } ?? Debt(spent: .zero, at: now)
            debt.spent += time
            state.debts[sender] = debt
            if state.debts.count > state.nextCleaning {
                state.debts = state.debts.filter { settled($0.value, now).spent > .zero }
                state.nextCleaning = max(1024, state.debts.count * 2)
            }
            return debt.spent > allowance ? (debt.spent - allowance) / share : nil
        }
    }

    /// What a sender has spent lately: it gets less by the sender's share of the time that passes.
    package func debt(of sender: UInt64, now: ContinuousClock.Instant = .now) -> Duration {
        state.withLock { state in state.debts[sender].map { settled($0, now).spent } ?? .zero }
    }

    private func settled(_ debt: Debt, _ now: ContinuousClock.Instant) -> Debt {
        Debt(spent: max(.zero, debt.spent - (now - debt.at) * share), at: now)
    }
}

/// Limits the share of a processor that each sender, and all together, may take for work that runs on the loops: what they spend at once,
/// beyond a first allowance, has to be waited for.
///
/// Senders who spend hardly anything never wait. While the others exceed `total` together, they share it: the more of them there are,
/// the less each gets, and none has an allowance. So a crowd of accounts takes no more than a few do.
package final class TimeBudget: Sendable {
    private struct Debt {
        var spent: Duration
        var at: ContinuousClock.Instant
        /// The share at which it gets less.
        var share: Double
    }

    private struct State {
        var debts: [UInt64: Debt] = [:]
        var nextCleaning = 1024
        /// What all have spent lately who spent more than the small sum; `nil` if that isn't limited.
        var crowd: Debt?
        /// Those who have spent more than that lately, and when that was checked last.
        var heavy: Set<UInt64> = []
        var heavyChecked: ContinuousClock.Instant
    }

    private let share: Double
    private let total: Double?
    private let allowance: Duration
    private let state: Locked<State>

    /// What a sender may spend at once whatever others do.
    private static let smallSum = Duration.milliseconds(2)
    /// How many senders may spend their allowances at once.
    private static let allowances = 3
    /// How often it is counted how many spend much.
    private static let countInterval = Duration.milliseconds(100)

    /// - Parameters:
    ///   - share: The share of one processor that a sender may take for long, above 0 and up to 1.
    ///   - total: The share of one processor that all may take for long who spend much; may exceed 1. `nil`: no limit.
    ///   - allowance: What a sender may spend at once.
    package init(share: Double, total: Double? = nil, allowance: Duration) {
        self.share = share
        self.total = total
        self.allowance = allowance
        let now = ContinuousClock.now
        state = Locked(State(crowd: total.map { Debt(spent: .zero, at: now, share: $0) }, heavyChecked: now))
    }

    /// Charges what a sender has spent.
    ///
    /// - Returns: How long the sender has to wait before more is done for it; `nil` when it needn't.
    package func charge(_ time: Duration, of sender: UInt64, now: ContinuousClock.Instant = .now) -> Duration? {
        state.withLock { state in
            var debt = state.debts[sender].map { Self.settled($0, now) } ?? Debt(spent: .zero, at: now, share: share)
            debt.spent += time
            let isCrowded = chargeCrowd(time, debt, of: sender, &state, now)
            debt.share = share
            if let total, isCrowded, state.heavy.contains(sender) {
                debt.share = min(share, total / Double(state.heavy.count))
            }
            state.debts[sender] = debt
            forgetSettled(&state, now)
            let free = isCrowded ? min(allowance, Self.smallSum) : allowance
            return debt.spent > free ? (debt.spent - free) / debt.share : nil
        }
    }

    /// - Returns: Whether all together exceed their share.
    private func chargeCrowd(
        _ time: Duration, _ debt: Debt, of sender: UInt64, _ state: inout State, _ now: ContinuousClock.Instant
    ) -> Bool {
        guard var crowd = state.crowd.map({ Self.settled($0, now) }) else { return false }
        if debt.spent > Self.smallSum {
            crowd.spent += time
            state.heavy.insert(sender)
        }
        state.crowd = crowd
        countHeavy(&state, now)
        return crowd.spent > allowance * Self.allowances
    }

    /// What a sender has spent lately: it gets less by the sender's share of the time that passes.
    package func debt(of sender: UInt64, now: ContinuousClock.Instant = .now) -> Duration {
        state.withLock { state in state.debts[sender].map { Self.settled($0, now).spent } ?? .zero }
    }

    private func countHeavy(_ state: inout State, _ now: ContinuousClock.Instant) {
        guard now - state.heavyChecked >= Self.countInterval else { return }
        state.heavyChecked = now
        state.heavy = state.heavy.filter { sender in
            state.debts[sender].map { Self.settled($0, now).spent > Self.smallSum } ?? false
        }
    }

    private func forgetSettled(_ state: inout State, _ now: ContinuousClock.Instant) {
        guard state.debts.count > state.nextCleaning else { return }
        state.debts = state.debts.filter { Self.settled($0.value, now).spent > .zero }
        state.nextCleaning = max(1024, state.debts.count * 2)
    }

    private static func settled(_ debt: Debt, _ now: ContinuousClock.Instant) -> Debt {
        Debt(spent: max(.zero, debt.spent - (now - debt.at) * debt.share), at: now, share: debt.share)
    }
}

/// What a piece of work holds of an ``InflightBudget``: the answers that it collects, until they are handed on.
package final class InflightShare: Sendable {
    /// The share that the current task's work is charged to; `nil` if nobody counts it.
    @TaskLocal package static var current: InflightShare?

    private struct State {
        var bytes = 0
        var charged = 0
    }

    private let budget: InflightBudget
    private let sender: UInt64
    private let state = Locked(State())

    package init(of budget: InflightBudget, for sender: UInt64) {
        self.budget = budget
        self.sender = sender
    }

    deinit { release() }

    /// Takes more bytes from the budget. The first of them aren't counted: see ``InflightBudget/uncounted``.
    package func take(_ bytes: Int) -> InflightBudget.Refusal? {
        state.withLock { state in
            let charge = max(0, state.bytes + bytes - InflightBudget.uncounted) - state.charged
            if charge > 0, let refusal = budget.take(charge, of: sender) { return refusal }
            state.bytes += bytes
            state.charged += charge
            return nil
        }
    }

    /// Gives everything back.
    package func release() {
        let charged = state.withLock { state in
            defer { state = State() }
            return state.charged
        }
        if charged > 0 { budget.giveBack(charged, of: sender) }
    }
}

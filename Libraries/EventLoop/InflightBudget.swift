/// Limits the memory that data from outside may take in a process while it is in flight: bodies of requests and messages of
/// sockets. A sender gets more only while more is free than it holds, so that none excludes the others.
package final class InflightBudget: Sendable {
    /// Why bytes are refused.
    package enum Refusal {
        /// The sender has reached its share.
        case share
        /// The budget is exhausted.
        case full
    }

    /// The first bytes of each body or message, which aren't counted.
    package static let uncounted = 64 << 10

    private struct State {
        var taken = 0
        var bySender: [UInt64: Int] = [:]
    }

    private let limit: Int
    private let state = Locked(State())

    /// - Parameter limit: the budget in bytes.
    package init(limit: Int) { self.limit = limit }

    /// Takes bytes from the budget.
    package func take(_ bytes: Int, of sender: UInt64) -> Refusal? {
        state.withLock { state in
            let held = state.bySender[sender, default: 0], free = limit - state.taken
            guard bytes <= free else { return held > 0 ? .share : .full }
            guard held + bytes <= free else { return .share }
            state.taken += bytes
            state.bySender[sender] = held + bytes
            return nil
        }
    }

    /// Charges bytes that are in memory already, even beyond the budget: later ones are refused until enough is given back.
    package func add(_ bytes: Int, of sender: UInt64) {
        state.withLock { state in
            state.taken += bytes
            state.bySender[sender, default: 0] += bytes
        }
    }

    package func giveBack(_ bytes: Int, of sender: UInt64) {
        state.withLock { state in
            state.taken -= bytes
            let left = state.bySender[sender, default: bytes] - bytes
            state.bySender[sender] = left > 0 ? left : nil
        }
    }
}

/// What comes from outside may take so much of a process's memory, all together, while it is on its way: bodies of requests, messages of
/// sockets. Who sends gets more only while more is free than they have, so that none keeps the others out.
package final class InflightBudget: Sendable {
    /// Why a piece isn't taken.
    package enum Refusal {
        /// The sender has its share.
        case share
        /// Nobody can have more.
        case full
    }

    /// Bytes of a body or a message that aren't counted.
    package static let uncounted = 64 << 10

    private struct State {
        var taken = 0
        var bySender: [UInt64: Int] = [:]
    }

    private let limit: Int
    private let state = Locked(State())

    /// - Parameter limit: in bytes.
    package init(limit: Int) { self.limit = limit }

    /// Takes bytes, or says why not.
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

    package func giveBack(_ bytes: Int, of sender: UInt64) {
        state.withLock { state in
            state.taken -= bytes
            let left = state.bySender[sender, default: bytes] - bytes
            state.bySender[sender] = left > 0 ? left : nil
        }
    }
}

import EventLoop

/// What the bodies of a server's requests may take of its memory, all together. A network gets more only while more is free than it
/// has, so that none keeps the others out. What a small body needs isn't counted.
final class BodyBudget: Sendable {
    /// Why a piece isn't taken.
    enum Refusal {
        /// The network has its share.
        case share
        /// Nobody can have more.
        case full
    }

    /// Bytes of a body that aren't counted.
    static let uncounted = 64 << 10

    private struct State {
        var taken = 0
        var byNetwork: [UInt64: Int] = [:]
    }

    private let limit: Int
    private let state = Locked(State())

    /// - Parameter limit: in bytes.
    init(limit: Int) { self.limit = limit }

    /// Takes bytes, or says why not.
    func take(_ bytes: Int, _ network: UInt64) -> Refusal? {
        state.withLock { state in
            let held = state.byNetwork[network, default: 0], free = limit - state.taken
            guard bytes <= free else { return held > 0 ? .share : .full }
            guard held + bytes <= free else { return .share }
            state.taken += bytes
            state.byNetwork[network] = held + bytes
            return nil
        }
    }

    func giveBack(_ bytes: Int, _ network: UInt64) {
        state.withLock { state in
            state.taken -= bytes
            let left = state.byNetwork[network, default: bytes] - bytes
            state.byNetwork[network] = left > 0 ? left : nil
        }
    }
}

extension RemoteAddress {
    /// As whose it counts: an IPv4 address, or the /64 of an IPv6 address, of which one machine has all.
    var network: UInt64 {
        switch self {
        case .v4(let address, _): UInt64(address)
        // ::ffff:a.b.c.d is an IPv4 address. The words are as they stand in memory.
        case .v6(0, let low, _) where UInt64(bigEndian: low) >> 32 == 0xFFFF:
            UInt64(UInt32(truncatingIfNeeded: UInt64(bigEndian: low)).bigEndian)
        case .v6(let high, _, _): high
        case .unknown: 0
        }
    }
}

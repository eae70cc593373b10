public import Texts

/// Lets work in as ``FairShares`` says: who finds no place waits for a turn.
public final class FairGate<Owner: Hashable & Sendable>: Sendable {
    /// Why somebody isn't let in.
    public enum Refusal: Error, Sendable, CustomStringConvertible {
        /// As many as may, of the owner or of the member, wait already.
        case full
        /// The turn didn't come in the time that the caller had.
        case late
        /// The gate is closed.
        case closed

        /// A sentence.
        public var description: String {
            switch self {
            case .full: "too many calls are waiting"
            case .late: "calls before this one took too long"
            case .closed: "no more calls are taken"
            }
        }
    }

    private struct Waiter {
        let number: Int
        let continuation: CheckedContinuation<Void, any Error>
    }

    private struct State {
        var shares: FairShares<Owner, Waiter>
        var waiters = 0
        var isClosed = false

        mutating func admitted() -> [Waiter] {
            var admitted: [Waiter] = []
            while let (_, waiter) = shares.next() { admitted.append(waiter) }
            return admitted
        }
    }

    private let state: Locked<State>
    private let waiting: (owner: Int, member: Int)

    /// - Parameters:
    ///   - places: How many are in at a time.
    ///   - waiting: How many of one owner may wait, and a fifth of it of one of its members.
    public init(places: Int, waiting: Int) {
        state = Locked(State(shares: FairShares(places: places)))
        self.waiting = (waiting, max(1, waiting / 5))
    }

    /// Places that are taken.
    public var taken: Int { state.withLock { $0.shares.taken } }

    /// Whether nobody is let in any more.
    public var isClosed: Bool { state.withLock { $0.isClosed } }

    /// Returns when a place is the caller's, until it calls ``leave(_:member:)``.
    /// - Parameters:
    ///   - member: Of the owner's, who asks; `nil` where the owner has none.
    ///   - time: How long the caller waits at the most; `nil` for as long as it takes.
    /// - Throws: ``Refusal``; `CancellationError`.
    public func enter(_ owner: Owner, member: ExactText? = nil, within time: Duration? = nil) async throws {
        let isIn = try state.withLock { state in
            if state.isClosed { throw Refusal.closed }
            if state.shares.take(owner, member: member) { return true }
            let isFull =
                state.shares.waiting(owner) >= waiting.owner
                || member.map { state.shares.waiting(owner, member: $0) >= waiting.member } ?? false
            if isFull { throw Refusal.full }
            return false
        }
        if isIn { return }
        guard let time else { return try await wait(owner, member) }
        do {
            try await withTimeout(time) { try await self.wait(owner, member) }
        } catch is TimeoutError {
            throw Refusal.late
        }
    }

    /// Gives a place back.
    /// - Parameter member: As with ``enter(_:member:within:)``.
    public func leave(_ owner: Owner, member: ExactText? = nil) {
        let admitted = state.withLock { state in
            state.shares.release(owner, member: member)
            return state.admitted()
        }
        for waiter in admitted { waiter.continuation.resume() }
    }

    /// Refuses everybody who waits, and who comes from now on.
    public func close() {
        let refused = state.withLock { state in
            state.isClosed = true
            return state.shares.removeAll()
        }
        for waiter in refused { waiter.continuation.resume(throwing: Refusal.closed) }
    }

    private func wait(_ owner: Owner, _ member: ExactText?) async throws {
        let number = state.withLock { state in
            state.waiters += 1
            return state.waiters
        }
        try await withTaskCancellationHandler {
            try await withCheckedThrowingContinuation { (continuation: CheckedContinuation<Void, any Error>) in
                let (refusal, admitted): ((any Error)?, [Waiter]) = state.withLock { state in
                    if state.isClosed { return (Refusal.closed, []) }
                    // Cancelled later, it is among those that wait.
                    if Task.isCancelled { return (CancellationError(), []) }
                    state.shares.append(Waiter(number: number, continuation: continuation), of: owner, member: member)
                    // Others of the owner's may wait that may have no more, and this one may.
                    return (nil, state.admitted())
                }
                if let refusal { continuation.resume(throwing: refusal) }
                for waiter in admitted { waiter.continuation.resume() }
            }
        } onCancel: {
            let waiter = state.withLock { $0.shares.remove(of: owner) { $0.number == number } }
            waiter?.continuation.resume(throwing: CancellationError())
        }
    }
}

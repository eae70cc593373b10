public import Texts

/// Admits work in the order of ``FairShares``. A caller that gets no place waits for its turn.
public final class FairGate<Owner: Hashable & Sendable>: Sendable {
    /// Why a caller isn't admitted.
    public enum Refusal: Error, Sendable, CustomStringConvertible {
        /// The maximum number of callers of the owner or of the member waits already.
        case full
        /// The turn didn't come within the caller's time limit.
        case late
        /// The gate is closed.
        case closed

        /// The reason in words.
        public var description: String {
            switch self {
            case .full: "too many calls are waiting"
            case .late: "calls before this one took too long"
            case .closed: "no more calls are accepted"
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
    ///   - places: The number of callers that are admitted at a time.
    ///   - waiting: The number of callers of one owner that may wait.
    ///   - waitingPerMember: The number of them that may be of one member; `nil`: a fifth.
    public init(places: Int, waiting: Int, waitingPerMember: Int? = nil) {
        state = Locked(State(shares: FairShares(places: places)))
        self.waiting = (waiting, waitingPerMember ?? max(1, waiting / 5))
    }

    /// The number of taken places.
    public var taken: Int { state.withLock { $0.shares.taken } }

    /// Whether the gate refuses all callers.
    public var isClosed: Bool { state.withLock { $0.isClosed } }

    /// Returns when the caller has a place, which it keeps until it calls ``leave(_:member:)``.
    /// - Parameters:
    ///   - member: The owner's member who calls; `nil` if the owner has no members.
    ///   - time: The longest time that the caller waits; `nil` for no limit.
    ///   - isCounted: Whether the number of waiting callers is limited; false if something else limits it.
    /// - Throws: ``Refusal``; `CancellationError`.
    public func enter(
        _ owner: Owner, member: ExactText? = nil, within time: Duration? = nil, isCounted: Bool = true
    ) async throws {
        let isIn = try state.withLock { state in
            if state.isClosed { throw Refusal.closed }
            if state.shares.take(owner, member: member) { return true }
            if isCounted, isFull(owner, member, state) { throw Refusal.full }
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

    /// Whether no more callers of an owner, or of a member, may wait. Who has hardly anything waiting still may, up to twice the number: otherwise
    /// those who have much would keep others out.
    private func isFull(_ owner: Owner, _ member: ExactText?, _ state: borrowing State) -> Bool {
        let all = state.shares.waiting(owner)
        guard let member else { return all >= waiting.owner }
        let own = state.shares.waiting(owner, member: member)
        if own >= waiting.member { return true }
        return all >= (own < max(1, waiting.member / 50) ? 2 * waiting.owner : waiting.owner)
    }

    /// Takes a place if the caller may have one without waiting. It is kept as after ``enter(_:member:within:isCounted:)``.
    public func enterAtOnce(_ owner: Owner, member: ExactText? = nil) -> Bool {
        state.withLock { !$0.isClosed && $0.shares.take(owner, member: member) }
    }

    /// The number of an owner's callers that wait.
    public func waiting(of owner: Owner) -> Int { state.withLock { $0.shares.waiting(owner) } }

    /// Releases a place.
    /// - Parameter member: The same as in ``enter(_:member:within:)``.
    public func leave(_ owner: Owner, member: ExactText? = nil) {
        let admitted = state.withLock { state in
            state.shares.release(owner, member: member)
            return state.admitted()
        }
        for waiter in admitted { waiter.continuation.resume() }
    }

    /// Refuses all waiting and all later callers.
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
                    // If it is cancelled later, `onCancel` finds it among the waiting ones.
                    if Task.isCancelled { return (CancellationError(), []) }
                    state.shares.append(Waiter(number: number, continuation: continuation), of: owner, member: member)
                    // The owner's other waiting members may have reached their share, while this one hasn't.
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

import DocumentStore
import EventLoop
import Texts

/// The place of a client's call among the quick ones, or among the slow ones.
final class ClientTurn: Sendable {
    private let turns: DocumentTurns
    private let app: String
    private let user: ExactText
    private let isSlow: Locked<Bool>

    private static let interval = Duration.milliseconds(100)

    init(_ turns: DocumentTurns, app: String, user: ExactText) {
        self.turns = turns
        self.app = app
        self.user = user
        isSlow = Locked(turns.slowUsers.withLock { $0.contains(app, user, .now) })
    }

    private var gate: FairGate<String> { isSlow.withLock { $0 } ? turns.slowGate : turns.gate }

    /// Waits for the place.
    /// - Throws: `DocumentStoreError` `overloaded` when the turn doesn't come in time.
    func begin() async throws { try await DocumentTurn(gate: gate, app: app, user: user).begin(isCounted: true) }

    func end() { gate.leave(app, member: user) }

    /// Moves the call to the slow ones when it turns out to be one.
    /// - Throws: `DocumentStoreError` `overloaded` when it has to end, since others wait; `CancellationError` when it has ended.
    func giveWay() async throws {
        let begin = ContinuousClock.now
        // Nothing tells that a call is slow but its time. It is cancelled when the call ends.
        try await Task.sleep(for: turns.times.slice)
        turns.slowUsers.withLock { $0.insert(app, user, until: .now + turns.times.memory) }
        if isSlow.withLock({ $0 }) { return }
        while !turns.slowGate.enterAtOnce(app, member: user) {
            if ContinuousClock.now - begin >= turns.times.longest, turns.gate.waiting(of: app) > 0 {
                throw DocumentStoreError(
                    .overloaded,
                    "the call was ended, since it takes long and others wait: give it an index or a narrower filter, or try again later"
                )
            }
            // One that waited in the queue of the slow ones couldn't be ended for those who wait here.
            try await Task.sleep(for: Self.interval)
        }
        isSlow.withLock { $0 = true }
        turns.gate.leave(app, member: user)
    }
}

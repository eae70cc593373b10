public import DocumentModel
public import DocumentStore
import EventLoop

/// Admits the document store calls that users make through an API or a function, so that they never occupy all of the service's
/// connections to Postgres. A quarter of the connections remains for the service's own work and for sync. The rest is shared fairly
/// among apps, and within an app among its users.
///
/// Users cost nothing, so fairness among them doesn't keep many users with slow calls from taking all places. A quarter of the places is
/// for calls that have run longer than ``Times/slice``, and for users who have made such a call not long ago. A call that has got none
/// of these by ``Times/longest`` is ended if others of its app wait.
public struct DocumentTurns: Sendable {
    package struct Times: Sendable {
        /// How long a call is one of the quick ones.
        package var slice = Duration.seconds(2)
        /// How long a call may be among the quick ones while others wait.
        package var longest = Duration.seconds(4)
        /// How long the calls of a user who has made a slow one are taken for slow.
        package var memory = Duration.seconds(30)

        package init() {}
    }

    /// How long a call waits for its turn.
    static let patience = Duration.seconds(10)
    /// The number of an app's waiting calls, functions' included, with which a client's call is refused; and that of one user's.
    private static let waiting = (app: 10_000, user: 100)

    /// The number of calls that have places.
    package var running: Int { gate.taken + slowGate.taken }

    let times: Times
    let gate: FairGate<String>
    let slowGate: FairGate<String>
    let slowUsers = Locked(SlowUsers())

    /// - Parameter connections: The number of the service's connections to Postgres.
    public init(connections: Int) { self.init(connections: connections, times: Times()) }

    package init(connections: Int, times: Times) {
        self.times = times
        let places = max(1, connections - max(1, connections / 4)), slow = max(1, places / 4)
        func gate(_ places: Int) -> FairGate<String> {
            FairGate(places: places, waiting: Self.waiting.app, waitingPerMember: Self.waiting.user)
        }
        self.gate = gate(max(1, places - slow))
        slowGate = gate(slow)
    }

    /// Carries out a call that a client makes directly.
    /// - Parameters:
    ///   - user: The user who makes the call, even if it is carried out as the system.
    ///   - access: On whose behalf it is carried out.
    /// - Throws: as ``DataAccess/performForClient(_:on:app:within:)``; `overloaded` when its turn doesn't come in time, or it is ended
    ///   for others.
    public func perform(
        _ call: DocumentCall, of user: String, as access: DataAccess, on store: DocumentStore, app: String
    ) async throws -> Value {
        try await perform(of: user, app: app) { try await access.performForClient(call, on: store, app: app) }
    }

    /// The same for any work.
    package func perform<R: Sendable>(
        of user: String, app: String, _ body: @escaping @Sendable () async throws -> R
    ) async throws -> R {
        let turn = ClientTurn(self, app: app, user: ExactText(user))
        try await turn.begin()
        defer { turn.end() }
        return try await withThrowingTaskGroup(of: R?.self) { group in
            group.addTask { try await body() }
            group.addTask {
                try await turn.giveWay()
                return nil
            }
            defer { group.cancelAll() }
            while let result = try await group.next() { if let result { return result } }
            throw CancellationError()
        }
    }

    /// The place in the queue of a user or, without one, of the app itself. The calls of functions that wait are limited by the calls
    /// in flight and what each of these may have in flight, so they aren't counted here.
    func turn(of user: String?, app: String) -> DocumentTurn {
        DocumentTurn(gate: gate, app: app, user: user.map { ExactText($0) })
    }
}

/// The queue's member on whose behalf a connection is used.
struct DocumentTurn: Sendable {
    let gate: FairGate<String>
    let app: String
    let user: ExactText?

    /// - Throws: `DocumentStoreError` `overloaded` when the turn doesn't come in time.
    func begin(isCounted: Bool = false) async throws {
        do {
            try await gate.enter(app, member: user, within: DocumentTurns.patience, isCounted: isCounted)
        } catch let refusal as FairGate<String>.Refusal {
            throw DocumentStoreError(.overloaded, "\(refusal); try again later")
        }
    }

    func end() { gate.leave(app, member: user) }
}

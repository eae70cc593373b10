public import DocumentModel
public import DocumentStore
import EventLoop

/// Admits the document store calls that users make through an API or a function, so that they never occupy all of the service's
/// connections to Postgres. A quarter of the connections remains for the service's own work and for sync. The rest is shared fairly
/// among apps, and within an app among its users.
public struct DocumentTurns: Sendable {
    /// How long a call waits for its turn.
    static let patience = Duration.seconds(10)
    /// The number of an app's waiting calls, functions' included, with which a client's call is refused; and that of one user's.
    private static let waiting = (app: 10_000, user: 100)

    private let gate: FairGate<String>

    /// - Parameter connections: The number of the service's connections to Postgres.
    public init(connections: Int) {
        gate = FairGate(
            places: max(1, connections - max(1, connections / 4)), waiting: Self.waiting.app,
            waitingPerMember: Self.waiting.user)
    }

    /// Carries out a call that a client makes directly.
    /// - Parameters:
    ///   - user: The user who makes the call, even if it is carried out as the system.
    ///   - access: On whose behalf it is carried out.
    /// - Throws: as ``DataAccess/performForClient(_:on:app:within:)``; `overloaded` when its turn doesn't come in time.
    public func perform(
        _ call: DocumentCall, of user: String, as access: DataAccess, on store: DocumentStore, app: String
    ) async throws -> Value {
        let turn = turn(of: user, app: app)
        try await turn.begin(isCounted: true)
        defer { turn.end() }
        return try await access.performForClient(call, on: store, app: app)
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

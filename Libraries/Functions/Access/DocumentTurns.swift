public import DocumentModel
public import DocumentStore
import EventLoop

/// Lets calls onto the document store that users ask for, by an API or a function, so that they never have all of the service's
/// connections to Postgres: a quarter stays for what the service itself has to do, and for everybody's sync. The rest is shared out
/// fairly among apps, and within an app among its users.
public struct DocumentTurns: Sendable {
    /// How long a call waits for its turn.
    static let patience = Duration.seconds(10)
    /// Calls of an app that wait; a fifth of it of one user.
    private static let waiting = 500

    private let gate: FairGate<String>

    /// - Parameter connections: How many the service has to Postgres.
    public init(connections: Int) {
        gate = FairGate(places: max(1, connections - max(1, connections / 4)), waiting: Self.waiting)
    }

    /// Carries out a call that a client makes without a function.
    /// - Parameters:
    ///   - user: Who makes the call, whoever it acts for.
    ///   - access: Who it acts for.
    /// - Throws: as ``DataAccess/performForClient(_:on:app:within:)``; `overloaded` when its turn doesn't come.
    public func perform(
        _ call: DocumentCall, of user: String, as access: DataAccess, on store: DocumentStore, app: String
    ) async throws -> Value {
        let turn = turn(of: user, app: app)
        try await turn.begin()
        defer { turn.end() }
        return try await access.performForClient(call, on: store, app: app)
    }

    /// Where a user waits, or, without one, the app itself.
    func turn(of user: String?, app: String) -> DocumentTurn {
        DocumentTurn(gate: gate, app: app, user: user.map { ExactText($0) })
    }
}

/// Whose turn it is to have a connection.
struct DocumentTurn: Sendable {
    let gate: FairGate<String>
    let app: String
    let user: ExactText?

    /// - Throws: `DocumentStoreError` `overloaded` when the turn doesn't come.
    func begin() async throws {
        do {
            try await gate.enter(app, member: user, within: DocumentTurns.patience)
        } catch let refusal as FairGate<String>.Refusal {
            throw DocumentStoreError(.overloaded, "\(refusal); try again later")
        }
    }

    func end() { gate.leave(app, member: user) }
}

import DocumentModel
import EventTopics

/// The accounts in Postgres, and the events that report their changes: both are written in one transaction, and the events are published
/// after it.
struct Accounts: Sendable {
    let store: AccountStore
    /// Has the waiting events published soon.
    let wakeOutbox: @Sendable () -> Void
    let clock: WallClock

    /// The tables outside of a transaction.
    var tables: AccountTables { store.tables }

    /// Runs statements in one transaction, and then has the events published that they wrote.
    nonisolated(nonsending) func transaction<Result>(
        _ body: nonisolated(nonsending) (AccountTables) async throws -> Result
    ) async throws -> Result {
        let result = try await store.transaction(body)
        wakeOutbox()
        return result
    }

    /// An event about a user, to be written in the transaction of the change that it reports.
    func event(
        _ kind: AuthEvent.Kind, _ user: User, providers: [String] = [], session: String? = nil, device: String? = nil
    ) -> AuthEvent {
        AuthEvent(
            id: ObjectId().hexString, app: user.app, kind: kind, userID: user.id, user: user.document,
            providers: providers, session: session, device: device, time: clock.now())
    }
}

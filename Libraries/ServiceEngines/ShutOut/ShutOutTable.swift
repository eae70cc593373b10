public import Postgres

/// The table `partita.shut_out_users` of users whose account is disabled or deleted. Auth writes it in the transaction that does
/// so, before the event of `auth-events` is published: a reader of the event finds the row.
public struct ShutOutTable: Sendable {
    /// Why a user is blocked.
    public enum Reason: Sendable { case disabled, deleted }

    /// The NOTIFY channel on which services learn that a user was blocked or unblocked, or that a session ended, also while the broker
    /// is unavailable.
    static let channel = "partita_shut_out"
    /// Notifies the channel when the transaction commits. Commits that notify wait for each other; these are few.
    static let tell = "select pg_notify('\(channel)', '')"
    /// The same, of a row that is gone.
    static let tellRemoval = "select pg_notify('\(channel)', '\(removal)')"
    static let removal = "removal"

    private let sql: any PostgresQuerying

    /// The table as a client, or a transaction, sees it.
    public init(_ sql: any PostgresQuerying) { self.sql = sql }

    /// Blocks a user.
    public func add(_ user: String, app: String, reason: Reason) async throws {
        try await sql.execute(
            """
            insert into partita.shut_out_users (app, user_id, is_deleted) values ($1, $2, $3)
            on conflict (app, user_id) do update set is_deleted = excluded.is_deleted, since = excluded.since
            """, [.text(app), .text(user), .bool(reason == .deleted)])
        try await sql.execute(Self.tell)
    }

    /// Unblocks a user.
    public func remove(_ user: String, app: String) async throws {
        try await sql.execute(
            "delete from partita.shut_out_users where app = $1 and user_id = $2", [.text(app), .text(user)])
        try await sql.execute(Self.tellRemoval)
    }

    /// Why a user is blocked; `nil` if they aren't.
    public func reason(for user: String, app: String) async throws -> Reason? {
        try await sql.query(
            "select is_deleted from partita.shut_out_users where app = $1 and user_id = $2",
            [.text(app), .text(user)]
        ).decode(Bool.self).first.map { $0 ? .deleted : .disabled }
    }

    /// Those of some users whose accounts were deleted.
    public func deleted(among users: [String], app: String) async throws -> [String] {
        try await sql.query(
            "select user_id from partita.shut_out_users where app = $1 and user_id = any ($2) and is_deleted",
            [.text(app), .textArray(users)]
        ).decode(String.self)
    }

    /// The blocked users who may still have an unexpired access token.
    /// - Parameter age: only users who were blocked within this time; `nil` for all.
    func withTokens(blockedWithin age: Duration?) async throws -> [ShutOut.User: Reason] {
        let longest = ShutOut.longestToken
        let rows = try await sql.query(
            """
            select app, user_id, is_deleted from partita.shut_out_users
            where since > clock_timestamp() - make_interval(secs => $1)
            """, [.double(min(age ?? longest, longest) / .seconds(1))]
        ).decode((String, String, Bool).self)
        return Dictionary(uniqueKeysWithValues: rows.map { (.init(app: $0, id: $1), $2 ? .deleted : .disabled) })
    }

    package static let migrations = Migrations(
        owner: "shut-out",
        files: [
            (1, "shut-out-users", PackageResources._001_shut_out_users_sql),
            (2, "ended-sessions", PackageResources._002_ended_sessions_sql),
        ])
}

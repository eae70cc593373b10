public import DocumentModel
public import Postgres

/// An ended session that may still have an unexpired access token.
public struct EndedSession: Hashable, Sendable {
    @ExactText public var app: String
    @ExactText public var id: String
    /// When its last access token expires, in milliseconds since 1970. The session can be forgotten afterwards.
    public var until: Int64

    public init(app: String, id: String, until: Int64) {
        self.app = app
        self.id = id
        self.until = until
    }
}

/// The table `partita.ended_sessions`. Auth writes it in the transaction that ends a session, before the event of `auth-events` is
/// published: a reader of the event finds the row.
public struct EndedSessionTable: Sendable {
    private let sql: any PostgresQuerying
    /// How far the clocks of services may differ, in milliseconds.
    static let leeway: Int64 = 60_000

    /// The table as a client, or a transaction, sees it.
    public init(_ sql: any PostgresQuerying) { self.sql = sql }

    /// Adds sessions. For a session that is already there, it only extends `until`.
    public func add(_ sessions: [EndedSession]) async throws {
        guard !sessions.isEmpty else { return }
        try await sql.execute(
            """
            insert into partita.ended_sessions (app, id, until)
            select distinct on (app, id) app, id, until from unnest($1::text[], $2::text[], $3::bigint[]) as e (app, id, until)
            order by app, id, until desc
            on conflict (app, id) do update set until = greatest(ended_sessions.until, excluded.until)
            """,
            [
                .textArray(sessions.map(\.app)), .textArray(sessions.map(\.id)), .int8Array(sessions.map(\.until)),
            ])
        try await sql.execute(ShutOutTable.tell)
    }

    /// Deletes the sessions whose access tokens have all expired.
    public func deleteExpired() async throws {
        try await sql.execute(
            "delete from partita.ended_sessions where until < \(Self.now) - $1",
            [.int(Self.leeway)])
    }

    /// The sessions that may still have an unexpired access token.
    /// - Parameter age: only sessions that ended within this time; `nil` for all.
    func withTokens(endedWithin age: Duration?) async throws -> [EndedSession] {
        let rows = try await sql.query(
            """
            select app, id, until from partita.ended_sessions
            where until >= \(Self.now) - $1
                and ($2::float8 is null or ended_at > clock_timestamp() - make_interval(secs => $2::float8))
            """, [.int(Self.leeway), age.map { .double($0 / .seconds(1)) } ?? .null]
        ).decode((String, String, Int64).self)
        return rows.map { EndedSession(app: $0.0, id: $0.1, until: $0.2) }
    }

    private static let now = "(extract(epoch from clock_timestamp()) * 1000)::bigint"
}

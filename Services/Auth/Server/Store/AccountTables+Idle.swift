import Postgres

/// An anonymous account, and where it is in their order, which is that of their creation.
struct AnonymousAccount: Sendable {
    var createdAt: Int64
    var app: String
    var subject: String
    var userId: String
    /// Whether nobody has used it for long.
    var isIdle: Bool
}

extension AccountTables {
    /// Whether a user `u` has nothing but an anonymous account, and hasn't signed in or refreshed since the time `$1`. One that was imported and
    /// never signed in stays: nothing tells since when nobody uses it.
    private static let idleCondition = """
        coalesce(u.last_sign_in < $1, false)
        AND EXISTS (
            SELECT FROM partita.auth_identities i
            WHERE i.app = u.app AND i.user_id = u.id AND i.provider = 'anon-user')
        AND NOT EXISTS (
            SELECT FROM partita.auth_identities i
            WHERE i.app = u.app AND i.user_id = u.id AND i.provider <> 'anon-user')
        AND NOT EXISTS (
            SELECT FROM partita.auth_sessions s
            WHERE s.app = u.app AND s.user_id = u.id AND coalesce(s.seen_at, s.created_at) >= $1)
        """

    /// Accounts that began as anonymous ones before a time, in their order.
    ///
    /// - Parameter place: the last one of the page before; `nil` for the first page.
    func anonymousAccounts(
        before time: Int64, after place: AnonymousAccount?, limit: Int
    ) async throws -> [AnonymousAccount] {
        try await sql.query(
            """
            SELECT a.created_at, a.app, a.subject, a.user_id, \(Self.idleCondition)
            FROM (
                SELECT created_at, app, subject, user_id FROM partita.auth_identities
                WHERE provider = 'anon-user' AND created_at < $1 AND (created_at, app, subject) > ($2, $3, $4)
                ORDER BY created_at, app, subject LIMIT $5
            ) a JOIN partita.auth_users u ON u.app = a.app AND u.id = a.user_id
            ORDER BY a.created_at, a.app, a.subject
            """,
            [
                .int(time), .int(place?.createdAt ?? .min), .text(place?.app ?? ""), .text(place?.subject ?? ""),
                .int(Int64(limit)),
            ]
        ).map { row in
            let (createdAt, app, subject, user, isIdle) = try row.decode((Int64, String, String, String, Bool).self)
            return AnonymousAccount(createdAt: createdAt, app: app, subject: subject, userId: user, isIdle: isIdle)
        }
    }

    /// Whether nobody has used an anonymous account since a time.
    func isIdle(_ id: String, of app: String, since time: Int64) async throws -> Bool {
        try await !sql.query(
            "SELECT FROM partita.auth_users u WHERE u.app = $2 AND u.id = $3 AND \(Self.idleCondition)",
            [.int(time), .text(app), .text(id)]
        ).isEmpty
    }

    /// Registrations from before a time that nobody has confirmed, the oldest first.
    func pendingAccounts(before time: Int64, limit: Int) async throws -> [(app: String, user: String)] {
        try await sql.query(
            """
            SELECT app, id FROM partita.auth_users WHERE is_pending AND created_at < $1 ORDER BY created_at LIMIT $2
            """, [.int(time), .int(Int64(limit))]
        ).decode((String, String).self).map { (app: $0.0, user: $0.1) }
    }
}

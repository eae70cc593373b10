import DocumentModel
import Postgres
import ServiceEngines

extension AccountTables {
    private static let userColumns = """
        u.app, u.id, u.type, u.data::text, u.is_pending, u.is_disabled, u.created_at, u.last_sign_in,
        (SELECT coalesce(json_agg(json_build_array(i.id, i.provider) ORDER BY i.created_at, i.id), '[]'::json)::text
         FROM partita.auth_identities i WHERE i.app = u.app AND i.user_id = u.id)
        """

    /// The blocked users, whose access tokens no service accepts.
    private var shutOut: ShutOutTable { ShutOutTable(sql) }

    func insertUser(_ user: User) async throws {
        try await sql.execute(
            """
            INSERT INTO partita.auth_users (app, id, type, data, is_pending, created_at) VALUES ($1, $2, $3, $4, $5, $6)
            """,
            [
                .text(user.app), .text(user.id), .text(user.type), .json(ExtendedJSON.print(.document(user.data))),
                .bool(user.isPending), .int(user.createdAt),
            ])
    }

    /// The user with its identities, or `nil`.
    ///
    /// - Parameter locked: locks the row to the end of the transaction, which puts the user's events in order.
    func user(_ id: String, of app: String, locked: Bool = false) async throws -> User? {
        let rows = try await sql.query(
            "SELECT \(Self.userColumns) FROM partita.auth_users u WHERE u.app = $1 AND u.id = $2\(locked ? " FOR UPDATE OF u" : "")",
            [.text(app), .text(id)])
        return try rows.first.map(Self.user)
    }

    /// At most `limit` users in the order of their ids, which is nearly that of their creation.
    func users(of app: String, after id: String, limit: Int) async throws -> [User] {
        let rows = try await sql.query(
            "SELECT \(Self.userColumns) FROM partita.auth_users u WHERE u.app = $1 AND u.id > $2 ORDER BY u.id LIMIT $3",
            [.text(app), .text(id), .int(Int64(limit))])
        return try rows.map(Self.user)
    }

    private static func user(_ row: PostgresRow) throws -> User {
        let columns = try row.decode((String, String, String, String, Bool, Bool, Int64, Int64?, String).self)
        let identities = try ExtendedJSON.parse(columns.8).arrayValue ?? []
        return User(
            app: columns.0, id: columns.1, type: columns.2, data: try ExtendedJSON.parseDocument(columns.3),
            identities: identities.compactMap { pair in
                guard let id = pair[0]?.stringValue, let provider = pair[1]?.stringValue else { return nil }
                return User.Identity(id: id, provider: provider)
            },
            isPending: columns.4, isDisabled: columns.5, createdAt: columns.6, lastSignIn: columns.7)
    }

    func setPending(_ isPending: Bool, user id: String, of app: String) async throws {
        try await sql.execute(
            "UPDATE partita.auth_users SET is_pending = $3 WHERE app = $1 AND id = $2",
            [.text(app), .text(id), .bool(isPending)])
    }

    func setDisabled(_ isDisabled: Bool, user id: String, of app: String) async throws {
        try await sql.execute(
            "UPDATE partita.auth_users SET is_disabled = $3 WHERE app = $1 AND id = $2",
            [.text(app), .text(id), .bool(isDisabled)])
        if isDisabled {
            try await shutOut.add(id, app: app, reason: .disabled)
        } else {
            try await shutOut.remove(id, app: app)
        }
    }

    func setData(_ data: Document, user id: String, of app: String) async throws {
        try await sql.execute(
            "UPDATE partita.auth_users SET data = $3 WHERE app = $1 AND id = $2",
            [.text(app), .text(id), .json(ExtendedJSON.print(.document(data)))])
    }

    func noteSignIn(user id: String, of app: String, now: Int64) async throws {
        try await sql.execute(
            "UPDATE partita.auth_users SET last_sign_in = $3 WHERE app = $1 AND id = $2",
            [.text(app), .text(id), .int(now)])
    }

    /// Deletes a user with identities, sessions, keys and push registrations.
    func deleteUser(_ id: String, of app: String, now: Int64) async throws {
        try await deregisterPush(ofUser: id, of: app, now: now)
        try await sql.execute("DELETE FROM partita.auth_users WHERE app = $1 AND id = $2", [.text(app), .text(id)])
        try await shutOut.add(id, app: app, reason: .deleted)
    }
}

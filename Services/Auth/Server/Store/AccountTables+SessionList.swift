import DocumentModel
import Postgres
import Texts

/// A session that hasn't ended, as its user sees it.
struct SessionListing: Sendable {
    var id: String
    var device: String
    var provider: String
    /// What the device said of itself at the sign-in; empty when it said nothing.
    var platform: String
    /// Where it was used last, and by which program; empty when that isn't known.
    var address: String
    var agent: String
    /// Milliseconds since 1970.
    var createdAt: Int64
    /// When it last got tokens, in milliseconds since 1970.
    var seenAt: Int64
    /// Milliseconds since 1970.
    var expiresAt: Int64

    /// How many are shown.
    static let limit = 100

    var document: Document {
        [
            "_id": .string(id), "device": .string(deviceName(of: device)), "provider_type": .string(provider),
            "platform": .string(platform), "user_agent": .string(agent), "address": .string(address),
            "created_at": .date(createdAt), "last_used_at": .date(seenAt), "expires_at": .date(expiresAt),
        ]
    }
}

/// Tells one device from another. The id itself is known to the device alone: it is what a sign-in proves with that it comes from there.
func deviceName(of id: String) -> String { Hex.text(Sodium.digest(id).prefix(6)) }

extension AccountTables {
    /// The sessions of a user that haven't ended, the one that was used last first.
    func liveSessions(ofUser user: String, app: String, now: Int64, limit: Int) async throws -> [SessionListing] {
        try await sessions(
            "revoked_at IS NULL AND expires_at > $3", limit: limit, [.text(app), .text(user), .int(now)])
    }

    /// The sessions of a user that are kept, also those that have ended.
    func allSessions(ofUser user: String, app: String) async throws -> [SessionListing] {
        try await sessions("true", limit: 10_000, [.text(app), .text(user)])
    }

    /// - Parameter condition: in addition to the app, `$1`, and the user, `$2`.
    private func sessions(
        _ condition: String, limit: Int, _ values: [PostgresValue]
    ) async throws -> [SessionListing] {
        let rows = try await sql.query(
            """
            SELECT id, device, provider, platform, address, agent, created_at, coalesce(seen_at, created_at), expires_at
            FROM partita.auth_sessions WHERE app = $1 AND user_id = $2 AND \(condition)
            ORDER BY coalesce(seen_at, created_at) DESC, id LIMIT \(limit)
            """, values
        ).decode((String, String, String, String, String, String, Int64, Int64, Int64).self)
        return rows.map {
            SessionListing(
                id: $0.0, device: $0.1, provider: $0.2, platform: $0.3, address: $0.4, agent: $0.5, createdAt: $0.6,
                seenAt: $0.7, expiresAt: $0.8)
        }
    }

    /// Whether a device has a session of that user, or had one and signed out, and its refresh token would still be valid. A session
    /// that ended otherwise (a reset, from another session, a stolen token) is no proof.
    func knows(device: String, ofUser user: String, app: String, now: Int64) async throws -> Bool {
        try await !sql.query(
            """
            SELECT FROM partita.auth_sessions
            WHERE app = $1 AND user_id = $2 AND device = $3 AND expires_at > $4
                AND (revoked_at IS NULL OR ended_by = 'signed-out')
            LIMIT 1
            """, [.text(app), .text(user), .text(device), .int(now)]
        ).isEmpty
    }
}

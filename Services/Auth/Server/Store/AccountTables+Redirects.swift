import DocumentModel
import Postgres

/// A row of `auth_redirects`: a sign-in by redirects that has begun.
struct RedirectRow: Sendable {
    var app: String
    var provider: String
    /// The digest of the cookie of the browser that began it.
    var browserHash: [UInt8]
    /// What the ID token must have.
    var nonce: String
    /// The secret that the code belongs to.
    var verifier: String
    /// Auth's own URL, to which the identity provider sends the code.
    var callback: String
    /// The app's page for the result, and what it gets back.
    var redirect: String
    var clientState: String
    /// The device as it describes itself.
    var device: Document
    /// Milliseconds since 1970.
    var expiresAt: Int64
    /// Who gets the identity; `nil` for a sign-in.
    var linking: Linking?

    /// A user who links an identity, and the session in which that was begun.
    struct Linking: Sendable {
        var user: String
        var session: String
    }
}

extension AccountTables {
    func insertRedirect(_ row: RedirectRow, stateHash: [UInt8]) async throws {
        try await sql.execute(
            """
            INSERT INTO partita.auth_redirects
                (state_hash, app, provider, browser_hash, nonce, verifier, callback, redirect, client_state, device,
                 expires_at, link_user, link_session)
            VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13)
            """,
            [
                .bytea(stateHash), .text(row.app), .text(row.provider), .bytea(row.browserHash), .text(row.nonce),
                .text(row.verifier), .text(row.callback), .text(row.redirect), .text(row.clientState),
                .json(ExtendedJSON.print(.document(row.device))), .int(row.expiresAt),
                PostgresValue(row.linking?.user), PostgresValue(row.linking?.session),
            ])
    }

    /// Deletes a sign-in and returns it, so that it ends once; `nil` when there is none of that state, or it has expired.
    func takeRedirect(stateHash: [UInt8], now: Int64) async throws -> RedirectRow? {
        let rows = try await sql.query(
            """
            DELETE FROM partita.auth_redirects WHERE state_hash = $1 AND expires_at > $2
            RETURNING app, provider, browser_hash, nonce, verifier, callback, redirect, client_state, device::text,
                expires_at, link_user, link_session
            """, [.bytea(stateHash), .int(now)]
        ).decode(
            (String, String, [UInt8], String, String, String, String, String, String, Int64, String?, String?).self)
        return try rows.first.map { row in
            let linking = row.10.flatMap { user in row.11.map { RedirectRow.Linking(user: user, session: $0) } }
            return RedirectRow(
                app: row.0, provider: row.1, browserHash: row.2, nonce: row.3, verifier: row.4, callback: row.5,
                redirect: row.6, clientState: row.7, device: try ExtendedJSON.parseDocument(row.8),
                expiresAt: row.9, linking: linking)
        }
    }
}

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
}

extension AccountTables {
    func insertRedirect(_ row: RedirectRow, stateHash: [UInt8]) async throws {
        try await sql.execute(
            """
            INSERT INTO partita.auth_redirects
                (state_hash, app, provider, browser_hash, nonce, verifier, callback, redirect, client_state, device,
                 expires_at)
            VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11)
            """,
            [
                .bytea(stateHash), .text(row.app), .text(row.provider), .bytea(row.browserHash), .text(row.nonce),
                .text(row.verifier), .text(row.callback), .text(row.redirect), .text(row.clientState),
                .json(ExtendedJSON.print(.document(row.device))), .int(row.expiresAt),
            ])
    }

    /// Deletes a sign-in and returns it, so that it ends once; `nil` when there is none of that state, or it has expired.
    func takeRedirect(stateHash: [UInt8], now: Int64) async throws -> RedirectRow? {
        let rows = try await sql.query(
            """
            DELETE FROM partita.auth_redirects WHERE state_hash = $1 AND expires_at > $2
            RETURNING app, provider, browser_hash, nonce, verifier, callback, redirect, client_state, device::text,
                expires_at
            """, [.bytea(stateHash), .int(now)]
        ).decode(
            (String, String, [UInt8], String, String, String, String, String, String, Int64).self)
        return try rows.first.map {
            RedirectRow(
                app: $0.0, provider: $0.1, browserHash: $0.2, nonce: $0.3, verifier: $0.4, callback: $0.5,
                redirect: $0.6, clientState: $0.7, device: try ExtendedJSON.parseDocument($0.8), expiresAt: $0.9)
        }
    }
}

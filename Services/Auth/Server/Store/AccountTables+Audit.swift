import EventTopics
import Postgres

extension AccountTables {
    /// Adds a record to the audit log. One that is there already, since it was written in the transaction of its act, stays as it is.
    ///
    /// Until the end of the transaction, no other one can add records: whoever reads page by page, from the last number on, would miss
    /// a record that got its number before that one and is committed after it. So it is a transaction's last statement.
    func append(_ event: AuditEvent) async throws {
        try await sql.execute(
            """
            WITH turn AS MATERIALIZED (SELECT pg_advisory_xact_lock(hashtextextended('partita.auth_audit', 0)))
            INSERT INTO partita.auth_audit
                (id, "time", token, token_name, role, app, action, target, outcome, address)
            SELECT $1, $2, $3, $4, $5, $6, $7, $8, $9, $10 FROM turn ON CONFLICT (id) DO NOTHING
            """,
            [
                .text(event.id), .int(event.time), .text(event.token), .text(event.tokenName), .text(event.role),
                .text(event.app), .text(event.action), PostgresValue(event.target), .text(event.outcome),
                .text(event.address),
            ])
    }

    /// A record with its number in the log.
    struct AuditRow: Sendable {
        var number: Int64
        var event: AuditEvent
    }

    /// The oldest records that aren't published, in order.
    func waitingAudit(limit: Int) async throws -> [AuditRow] {
        try await auditRows("NOT is_published ORDER BY number LIMIT $1", [.int(Int64(limit))])
    }

    /// A page of the log, in order.
    ///
    /// - Parameters:
    ///   - app: `nil` for all apps.
    ///   - since: milliseconds since 1970.
    ///   - number: only records with a larger number.
    func audit(app: String?, since: Int64, after number: Int64, limit: Int) async throws -> [AuditRow] {
        try await auditRows(
            """
            ($1::text IS NULL OR app = $1) AND "time" >= $2 AND number > $3 ORDER BY number LIMIT $4
            """, [PostgresValue(app), .int(since), .int(number), .int(Int64(limit))])
    }

    private func auditRows(_ condition: String, _ values: [PostgresValue]) async throws -> [AuditRow] {
        let rows = try await sql.query(
            """
            SELECT number, id, app, token, token_name, role, action, target, outcome, address, "time"
            FROM partita.auth_audit WHERE \(condition)
            """, values)
        return try rows.map { row in
            let (number, id, app, token, name, role, action, target, outcome, address, time) = try row.decode(
                (Int64, String, String, String, String, String, String, String?, String, String, Int64).self)
            return AuditRow(
                number: number,
                event: AuditEvent(
                    id: id, app: app, token: token, tokenName: name, role: role, action: action, target: target,
                    outcome: outcome, address: address, time: time))
        }
    }

    func markAuditPublished(_ numbers: [Int64]) async throws {
        try await sql.execute(
            "UPDATE partita.auth_audit SET is_published = true WHERE number = ANY ($1)", [.int8Array(numbers)])
    }

    /// Deletes records that are older than a time and were published.
    func deleteAudit(before time: Int64) async throws {
        try await sql.deleteOldest(
            from: "partita.auth_audit", by: #""time""#, where: #""time" < $1 AND is_published"#, [.int(time)])
    }
}

import DocumentModel
import EventTopics
import Postgres

extension AccountTables {
    /// Writes an event, which is published after the transaction has committed, or never.
    func append(_ event: AuthEvent) async throws { try await append([event]) }

    /// Adds events, in their order, by one statement: a user may have very many sessions, which all end at once.
    func append(_ events: [AuthEvent]) async throws {
        if events.isEmpty { return }
        try await sql.execute(
            """
            INSERT INTO partita.auth_outbox (id, app, kind, user_id, event, created_at)
            SELECT e.id, e.app, e.kind, e.user_id, e.event::json, e.time
            FROM unnest($1::text[], $2::text[], $3::text[], $4::text[], $5::text[], $6::bigint[]) WITH ORDINALITY
                e(id, app, kind, user_id, event, time, place)
            ORDER BY e.place
            """,
            [
                .textArray(events.map(\.id)), .textArray(events.map(\.app)), .textArray(events.map(\.kind.rawValue)),
                .textArray(events.map(\.userID)),
                .textArray(events.map { ExtendedJSON.print(.document($0.encoded())) }), .int8Array(events.map(\.time)),
            ])
    }

    /// An event that isn't published, with its row's number.
    struct WaitingEvent: Sendable {
        var number: Int64
        var event: AuthEvent
    }

    /// The oldest events that aren't published, in order.
    func waitingEvents(limit: Int) async throws -> [WaitingEvent] {
        let rows = try await sql.query(
            """
            SELECT number, id, kind, event::text FROM partita.auth_outbox
            WHERE published_at IS NULL ORDER BY number LIMIT $1
            """, [.int(Int64(limit))]
        ).decode((Int64, String, String, String).self)
        return try rows.map { number, id, kind, text in
            let attributes = EventAttributes(
                id: id, source: "", type: "partita.auth.\(kind).v1", subject: "", time: 0, traceparent: nil)
            return WaitingEvent(
                number: number, event: try AuthEvent(ExtendedJSON.parseDocument(text), attributes: attributes))
        }
    }

    func markPublished(_ numbers: [Int64], now: Int64) async throws {
        try await sql.execute(
            "UPDATE partita.auth_outbox SET published_at = $2 WHERE number = ANY ($1)",
            [.int8Array(numbers), .int(now)])
    }

    func deletePublished(before time: Int64) async throws {
        try await sql.deleteOldest(
            from: "partita.auth_outbox", by: "published_at", where: "published_at < $1", [.int(time)])
    }

    /// When the oldest event that isn't published was written, in milliseconds since 1970; `nil` when all are.
    func oldestWaitingEvent() async throws -> Int64? {
        try await sql.query(
            "SELECT created_at FROM partita.auth_outbox WHERE published_at IS NULL ORDER BY number LIMIT 1"
        ).decode(Int64.self).first
    }
}

public import DocumentModel
import DocumentStore
import EventTopics
public import Postgres

/// The events on which triggers failed, and which were put aside.
extension AppDeployments {
    /// Bytes of an error's message in a list.
    private static let reasonLimit = 2000

    /// A page of an app's dead letters that were neither replayed nor discarded, in the order of their numbers, without their events.
    ///
    /// - Parameters:
    ///   - trigger: `nil` for all triggers.
    ///   - number: only dead letters with a larger number.
    /// - Throws: `DeploymentError` with code `appUnknown`.
    public func deadLetters(
        of app: String, trigger: String?, after number: Int64, limit: Int
    ) async throws -> [Document] {
        try await deployedVersion(of: app)
        guard try await hasTable("trigger_failures") else { return [] }
        let rows = try await client.query(
            """
            select id, to_char(failed_at at time zone 'utc', 'YYYY-MM-DD HH24:MI:SS'), trigger, event_id, attempts::bigint,
                left(code || ': ' || message, $5::bigint::int) || coalesce(' (' || function || coalesce(':' || line, '') || ')', '')
            from partita.trigger_failures
            where app = $1 and ($2::text is null or trigger = $2) and id > $3 and replayed_at is null order by id limit $4
            """,
            [.text(app), PostgresValue(trigger), .int(number), .int(Int64(limit)), .int(Int64(Self.reasonLimit))])
        let decoded = try rows.decode((Int64, String, String, String, Int64, String).self)
        return decoded.map { row -> Document in
            [
                "number": .int64(row.0), "at": .string(row.1), "trigger": .string(row.2), "event": .string(row.3),
                "attempts": .int64(row.4), "reason": .string(row.5),
            ]
        }
    }

    /// A dead letter with the event that the trigger received.
    /// - Throws: `DeploymentError`: `appUnknown`, `deadLetterUnknown`.
    public func deadLetter(_ number: Int64, of app: String) async throws -> Document {
        let row = try await row(of: number, app: app)
        var document: Document = [
            "number": .int64(number), "at": .string(row.at), "trigger": .string(row.trigger),
            "event": .string(row.event), "attempts": .int64(row.attempts), "code": .string(row.code),
            "message": .string(row.message),
        ]
        document["function"] = row.function.map { .string($0) }
        document["line"] = row.line.map { .int64($0) }
        document["received"] = .document(try ExtendedJSON.parseDocument(row.body))
        return document
    }

    /// Publishes a dead letter's event again under its own id, after the record that it was handled is deleted. The dead letter is
    /// marked as replayed only when the broker has the event: if anything fails before, it can be replayed again. Whoever replays it at
    /// the same time publishes the event, too, which then is run once.
    ///
    /// - Parameters:
    ///   - anew: Whether the run forgets what it has read and written, instead of going on after it: what it has read may be why it failed.
    ///     What it has written, it writes again.
    ///   - recording: writes a record of the act before it has an effect.
    /// - Throws: `DeploymentError`: `appUnknown`, `deadLetterUnknown`, `deadLetterKind`; `triggerUnknown` and `triggerState` when the
    ///   trigger wouldn't run.
    public func replayDeadLetter(
        _ number: Int64, of app: String, anew: Bool = false,
        recording: @Sendable (PostgresTransaction) async throws -> Void = { _ in }
    ) async throws {
        let row = try await row(of: number, app: app)
        let event = try ExtendedJSON.parseDocument(row.body)
        guard event["ns"] != nil else {
            throw DeploymentError(
                .deadLetterKind,
                "dead letter \(number) of \(row.trigger) isn't of a document, and only those can be replayed")
        }
        let change = try ChangeEvent(event)
        try await requireMessage(of: change, number, bytes: row.body.utf8.count)
        try await requireRun(of: row.trigger, on: change, app: row.app)
        try await client.withTransaction { transaction in
            let begun = try await transaction.query(
                """
                update partita.trigger_failures set replay_begun_at = now()
                where id = $1 and replay_begun_at is null returning id
                """, [.int(number)])
            // Only once: somebody who replays it at the same time, or after an attempt that was cut, mustn't let a run begin again that
            // has ended meanwhile.
            if !begun.isEmpty {
                try await transaction.execute(
                    "delete from partita.handled_event_ids where consumer = 'trigger-workers' and event_id = $1",
                    [.text("\(row.app)/\(row.trigger)/\(row.event)")])
                if anew { try await forgetRun(row, number, in: transaction) }
            }
            try await recording(transaction)
        }
        try await send { producer in
            try await producer.send(
                DocumentChangesEvent.change(change),
                orIfTooLarge: .large(LargeChange(change, size: Int64(row.body.utf8.count))))
        }
        try await client.execute(
            "update partita.trigger_failures set replayed_at = now() where id = $1", [.int(number)])
    }

    /// Has the run for a dead letter begin anew: what it has read and written is forgotten, and its next attempt makes other ids.
    private func forgetRun(
        _ row: FailureRow, _ number: Int64, in transaction: PostgresTransaction
    ) async throws {
        let run = [PostgresValue.text(row.app), .text(row.trigger), .text(row.event)]
        try await transaction.execute(
            "delete from partita.trigger_journal where app = $1 and trigger = $2 and event = $3", run)
        try await transaction.execute(
            """
            insert into partita.trigger_journal (app, trigger, event, ordinal, digest, result)
            values ($1, $2, $3, -1, 'anew', $4)
            """, run + [.text("\(number)")])
    }

    /// The size from which on a change may be too large for a message, in bytes.
    private static let largeBytes = 800_000

    /// A change that is too large for a message is only named there, and read from its change row.
    /// - Throws: `DeploymentError` when it may be too large, and the row was deleted by its age.
    private func requireMessage(of change: ChangeEvent, _ number: Int64, bytes: Int) async throws {
        guard bytes >= Self.largeBytes else { return }
        let rows = try await client.query(
            "select from partita.changes where app = $1 and partition = $2 and epoch = $3 and revision = $4",
            [
                .text(change.app), .text(change.partition.text), .int(Int64(change.revision.epoch)),
                .int(change.revision.number),
            ])
        guard rows.isEmpty else { return }
        throw DeploymentError(
            .deadLetterKind,
            "dead letter \(number) is too large for a message, and its change is so old that its row was deleted: discard it"
        )
    }

    /// - Throws: `DeploymentError` when a trigger of the present version wouldn't run for a change.
    private func requireRun(of name: String, on change: ChangeEvent, app: String) async throws {
        guard let trigger = try await deployed(app).definition.trigger(name) else {
            throw DeploymentError(
                .triggerUnknown,
                "the present version of \(app) has no trigger \(name): deploy one that has it, or discard the dead letter"
            )
        }
        let reason =
            switch trigger.event {
            case _ where trigger.isDisabled: "is disabled"
            case .database(let condition) where condition.concerns(change): nil as String?
            default: "runs for no such change"
            }
        guard let reason else { return }
        throw DeploymentError(
            .triggerState,
            "\(name) \(reason) in the present version of \(app): deploy one in which it runs, or discard the dead letter"
        )
    }

    /// Deletes a dead letter.
    /// - Parameter recording: writes a record of the act, in its transaction.
    /// - Throws: `DeploymentError`: `appUnknown`, `deadLetterUnknown`.
    public func discardDeadLetter(
        _ number: Int64, of app: String,
        recording: @Sendable (PostgresTransaction) async throws -> Void = { _ in }
    ) async throws {
        let row = try await row(of: number, app: app)
        try await client.withTransaction { transaction in
            let deleted = try await transaction.query(
                "delete from partita.trigger_failures where id = $1 and replayed_at is null returning id",
                [.int(number)])
            guard !deleted.isEmpty else { throw Self.unknown(number, of: row.app) }
            try await transaction.execute(
                "delete from partita.trigger_journal where app = $1 and trigger = $2 and event = $3",
                [.text(row.app), .text(row.trigger), .text(row.event)])
            try await recording(transaction)
        }
    }

    private struct FailureRow {
        var app: String
        var at: String
        var trigger: String
        var event: String
        var body: String
        var code: String
        var message: String
        var function: String?
        var line: Int64?
        var attempts: Int64
    }

    private func row(of number: Int64, app: String) async throws -> FailureRow {
        try await deployedVersion(of: app)
        guard try await hasTable("trigger_failures") else { throw Self.unknown(number, of: app) }
        let rows = try await client.query(
            """
            select to_char(failed_at at time zone 'utc', 'YYYY-MM-DD HH24:MI:SS'), trigger, event_id, event, code, message,
                function, line::bigint, attempts::bigint
            from partita.trigger_failures where id = $1 and app = $2 and replayed_at is null
            """, [.int(number), .text(app)]
        ).decode((String, String, String, String, String, String, String?, Int64?, Int64).self)
        guard let row = rows.first else { throw Self.unknown(number, of: app) }
        return FailureRow(
            app: app, at: row.0, trigger: row.1, event: row.2, body: row.3, code: row.4, message: row.5,
            function: row.6, line: row.7, attempts: row.8)
    }

    private static func unknown(_ number: Int64, of app: String) -> DeploymentError {
        DeploymentError(
            .deadLetterUnknown, "\(app) has no dead letter \(number), or it was replayed or discarded")
    }
}

import DocumentModel
import EventStream
import Postgres

extension HandledEvents {
    /// For which events triggers have run, by the ids of the runs.
    static let triggerRuns = HandledEvents(consumer: "trigger-workers")
}

/// Which runs of triggers have ended, and what the others had recorded; for many runs at once.
struct RunRecords: Sendable {
    /// A trigger's run for an event.
    struct Run: Sendable {
        let app: String
        let trigger: String
        let event: String

        /// What the event is called in the record of handled events.
        var id: String { "\(app)/\(trigger)/\(event)" }
    }

    /// A recorded document call of a run.
    struct Entry: Sendable {
        /// The place of an entry that is no call: an operator has the run begin anew (`partita triggers --replay --anew`), and its result tells
        /// this beginning from others. `AppDeployments.replayDeadLetter` writes it.
        static let beginning: Int64 = -1

        /// The place of the entry that says when the run began for the first time.
        static let start: Int64 = -2

        let ordinal: Int64
        let digest: String
        let result: String
    }

    private let client: PostgresClient
    private let reads: StatementBatches<Run, [Entry]?>
    private let ends: StatementBatches<Run, Void>

    init(client: PostgresClient) {
        self.client = client
        reads = StatementBatches { try await Self.read($0, client) }
        ends = StatementBatches { try await Self.end($0, client) }
    }

    /// What earlier runs have recorded; `nil` for each whose event was handled.
    func entries(of runs: [Run]) async throws -> [[Entry]?] {
        // Those that wait for one run each share a statement.
        if runs.count == 1 { return [try await reads.answer(to: runs[0])] }
        return runs.isEmpty ? [] : try await Self.read(runs, client)
    }

    /// The runs of some triggers that have written something and haven't ended, and aren't dead-lettered.
    func begun(of triggers: [String], app: String) async throws -> [Run] {
        let rows = try await client.query(
            """
            select distinct j.trigger, j.event from partita.trigger_journal j
            where j.app = $1 and j.trigger = any($2) and not exists (
                select from partita.handled_event_ids h
                where h.consumer = $3 and h.event_id = j.app || '/' || j.trigger || '/' || j.event)
                and not exists (
                    select from partita.trigger_failures f
                    where f.app = j.app and f.trigger = j.trigger and f.event_id = j.event and f.replayed_at is null)
            """, [.text(app), .textArray(triggers), .text(HandledEvents.triggerRuns.consumer)])
        return try rows.decode((String, String).self).map { Run(app: app, trigger: $0.0, event: $0.1) }
    }

    /// Which of these runs an operator has asked for again (`partita triggers --replay`), in their order.
    func areReplayed(_ runs: [Run]) async throws -> [Bool] {
        try await client.query(
            """
            select exists (
                select from partita.trigger_failures f
                where f.app = r.app and f.trigger = r.trigger and f.event_id = r.event and f.replay_begun_at is not null)
            from unnest($1::text[], $2::text[], $3::text[]) with ordinality r(app, trigger, event, place) order by r.place
            """, Self.parameters(runs)
        ).decode(Bool.self)
    }

    /// Marks the event as handled, and deletes what was recorded.
    func end(_ run: Run) async throws { try await ends.answer(to: run) }

    private static func read(_ runs: [Run], _ client: PostgresClient) async throws -> [[Entry]?] {
        let rows = try await client.query(
            """
            select r.place, \(HandledEvents.isHandledSQL), j.ordinal, j.digest, j.result
            from unnest($2::text[], $3::text[], $4::text[], $5::text[]) with ordinality r(id, app, trigger, event, place)
            left join partita.trigger_journal j on j.app = r.app and j.trigger = r.trigger and j.event = r.event
            """, [.text(HandledEvents.triggerRuns.consumer), .textArray(runs.map(\.id))] + parameters(runs))
        var answers = [[Entry]?](repeating: [], count: runs.count)
        for row in try rows.decode((Int64, Bool, Int64?, String?, String?).self) {
            let place = Int(row.0) - 1
            if row.1 {
                answers[place] = nil
            } else if let ordinal = row.2, let digest = row.3, let result = row.4 {
                answers[place]?.append(Entry(ordinal: ordinal, digest: digest, result: result))
            }
        }
        return answers
    }

    private static func end(_ runs: [Run], _ client: PostgresClient) async throws -> [Void] {
        // In the same order by all callers, so that they don't deadlock.
        let runs = runs.sorted { ByteOrder.compare($0.id, $1.id) < 0 }
        try await client.execute(
            """
            with handled as (\(HandledEvents.claimAllSQL))
            delete from partita.trigger_journal j
            using unnest($3::text[], $4::text[], $5::text[]) r(app, trigger, event)
            where j.app = r.app and j.trigger = r.trigger and j.event = r.event
            """, [.text(HandledEvents.triggerRuns.consumer), .textArray(runs.map(\.id))] + parameters(runs))
        return runs.map { _ in () }
    }

    private static func parameters(_ runs: [Run]) -> [PostgresValue] {
        [.textArray(runs.map(\.app)), .textArray(runs.map(\.trigger)), .textArray(runs.map(\.event))]
    }
}

import AppDefinition
import DocumentModel
import Postgres

/// The moments of scheduled triggers, in Postgres: which were taken, and which of those are not done.
///
/// Taking a moment and noting that it is to be run is one statement, and the note stays until the run is done. It belongs to a worker
/// as long as that one renews its claim; a worker that ends in between leaves it to the others.
struct ScheduleTable: Sendable {
    /// A moment at which a trigger is due, in milliseconds since 1970.
    struct Moment: Hashable, Sendable {
        @ExactText private(set) var app: String
        @ExactText private(set) var trigger: String
        let at: Int64

        fileprivate var key: [PostgresValue] { [.text(app), .text(trigger), .int(at)] }
    }

    /// How long a claim holds without being renewed.
    static let claim = Duration.seconds(6)

    let client: PostgresClient

    private static let claimEnd = "clock_timestamp() + interval '\(claim.components.seconds) seconds'"

    /// Takes the last moment that is due and that nobody has taken; of several that were missed, the last one only.
    /// - Returns: the moment, claimed for the caller; `nil` when none is due, or another worker was faster.
    func take(_ schedule: TriggerDefinition.Schedule, app: String, trigger: String, now: Int64) async throws -> Moment?
    {
        // The first sight of a trigger is where its schedule begins.
        let rows = try await client.query(
            """
            insert into partita.trigger_schedules as s (app, trigger, taken) values ($1, $2, to_timestamp($3::double precision / 1000))
            on conflict (app, trigger) do update set taken = s.taken
            returning (extract(epoch from taken) * 1000)::bigint
            """, [.text(app), .text(trigger), .int(now)])
        guard let taken = try rows.first?.decode(0, as: Int64.self), var at = schedule.cron.next(after: taken),
            at <= now
        else { return nil }
        while let next = schedule.cron.next(after: at), next <= now { at = next }
        let moment = Moment(app: app, trigger: trigger, at: at)
        let won = try await client.execute(
            """
            with won as (
                update partita.trigger_schedules set taken = to_timestamp($3::double precision / 1000)
                where app = $1 and trigger = $2 and taken < to_timestamp($3::double precision / 1000) returning app
            )
            insert into partita.trigger_moments (app, trigger, moment, claimed_until)
            select $1, $2, $3, \(Self.claimEnd) from won
            """, moment.key)
        return won == 1 ? moment : nil
    }

    /// Claims the moments that other workers took and didn't finish.
    func adopt() async throws -> [Moment] {
        try await client.query(
            """
            update partita.trigger_moments m set claimed_until = \(Self.claimEnd)
            from (
                select app, trigger, moment from partita.trigger_moments where claimed_until < clock_timestamp()
                limit 100 for update skip locked
            ) free
            where m.app = free.app and m.trigger = free.trigger and m.moment = free.moment
            returning m.app, m.trigger, m.moment
            """
        ).decode((String, String, Int64).self).map { Moment(app: $0, trigger: $1, at: $2) }
    }

    /// Renews the claim on a moment that is being run.
    func renew(_ moment: Moment) async throws {
        try await client.execute(
            """
            update partita.trigger_moments set claimed_until = \(Self.claimEnd)
            where app = $1 and trigger = $2 and moment = $3
            """, moment.key)
    }

    /// The moment's run is done, or nothing is there any more to be run.
    func finish(_ moment: Moment) async throws {
        try await client.execute(
            "delete from partita.trigger_moments where app = $1 and trigger = $2 and moment = $3", moment.key)
    }
}

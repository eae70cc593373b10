import AppDefinition
import DocumentModel
import Postgres

/// The scheduled times of triggers, in Postgres: which were taken, and which of those are not done.
///
/// Taking a scheduled time and recording its run as open is one statement, and the row stays until the run is done. The run belongs
/// to a worker as long as that worker renews its claim; if the worker ends in between, another one claims it.
struct ScheduleTable: Sendable {
    /// A scheduled time of a trigger, in milliseconds since 1970.
    struct Run: Hashable, Sendable {
        @ExactText private(set) var app: String
        @ExactText private(set) var trigger: String
        let at: Int64

        fileprivate var key: [PostgresValue] { [.text(app), .text(trigger), .int(at)] }
    }

    /// How long a claim is valid without being renewed.
    static let claim = Duration.seconds(6)

    let client: PostgresClient

    private static let claimEnd = "clock_timestamp() + interval '\(claim.components.seconds) seconds'"

    /// What became of a scheduled time that the caller has taken.
    enum Taken: Hashable, Sendable {
        /// It is claimed for the caller.
        case run(Run)
        /// The run before it isn't done.
        case overlapping(Run)
        /// It passed while no worker ran, and the trigger skips those.
        case missed(Run)
    }

    /// A scheduled time that is taken so much later than it was due, in milliseconds, was missed: workers look every second.
    static let lateness: Int64 = 30_000

    /// The time of Postgres, in milliseconds since 1970, and when the last scheduled times of triggers were that a worker has taken.
    struct Standing: Sendable {
        var present: Int64
        fileprivate var taken: [ExactText: [ExactText: Int64]] = [:]
    }

    /// Reads what was taken, of all apps.
    func standing() async throws -> Standing {
        let rows = try await client.query(
            """
            select (extract(epoch from clock_timestamp()) * 1000)::bigint, s.app, s.trigger,
                (extract(epoch from s.taken) * 1000)::bigint
            from (select) one left join partita.trigger_schedules s on true
            """
        ).decode((Int64, String?, String?, Int64?).self)
        var standing = Standing(present: rows.first?.0 ?? 0)
        for case (_, let app?, let trigger?, let taken?) in rows {
            standing.taken[ExactText(app), default: [:]][ExactText(trigger)] = taken
        }
        return standing
    }

    /// Takes the last scheduled time that is due and that no worker has taken; of several missed ones, only the last.
    /// - Parameters:
    ///   - beginning: since when the trigger is deployed without a break, in milliseconds since 1970: it has no scheduled time before that.
    ///   - standing: what was taken not long ago.
    /// - Returns: `nil` when none is due, or another worker was faster.
    func take(
        _ schedule: TriggerDefinition.Schedule, app: String, trigger: String, since beginning: Int64, now: Int64,
        after standing: Standing
    ) async throws -> Taken? {
        // By the clock that all workers have in common: what one takes whose own clock is ahead, none would take when it is due.
        let present = standing.present, now = min(now, present)
        guard var taken = standing.taken[ExactText(app)]?[ExactText(trigger)] else {
            // A schedule begins when a worker sees its trigger for the first time.
            try await client.execute(
                """
                insert into partita.trigger_schedules (app, trigger, taken) values ($1, $2, to_timestamp($3::double precision / 1000))
                on conflict do nothing
                """, [.text(app), .text(trigger), .int(now)])
            return nil
        }
        if taken > present + Self.lateness {
            // By a worker whose clock was ahead: nothing would be due before that time.
            try await client.execute(
                """
                update partita.trigger_schedules set taken = to_timestamp($3::double precision / 1000)
                where app = $1 and trigger = $2 and taken > to_timestamp($3::double precision / 1000)
                """, [.text(app), .text(trigger), .int(present)])
            taken = present
        }
        taken = max(taken, beginning)
        guard var at = schedule.cron.next(after: taken), at <= now else { return nil }
        while let next = schedule.cron.next(after: at), next <= now { at = next }
        let run = Run(app: app, trigger: trigger, at: at)
        let isMissed = schedule.skipsCatchUpEvents && at < now - Self.lateness
        let rows = try await client.query(
            """
            with won as (
                update partita.trigger_schedules set taken = to_timestamp($3::double precision / 1000)
                where app = $1 and trigger = $2 and taken < to_timestamp($3::double precision / 1000) returning app
            ), opened as (
                insert into partita.trigger_moments (app, trigger, moment, claimed_until)
                select $1, $2, $3, \(Self.claimEnd) from won
                where not $4 and not exists (select from partita.trigger_moments where app = $1 and trigger = $2)
                returning app
            )
            select exists (select from opened) from won
            """, run.key + [.bool(isMissed)])
        guard let isOpened = try rows.first?.decode(0, as: Bool.self) else { return nil }
        return isOpened ? .run(run) : isMissed ? .missed(run) : .overlapping(run)
    }

    /// Makes the scheduled times before `now` count as taken.
    func skip(app: String, trigger: String, to now: Int64) async throws {
        try await client.execute(
            """
            update partita.trigger_schedules set taken = greatest(taken, to_timestamp($3::double precision / 1000))
            where app = $1 and trigger = $2
            """, [.text(app), .text(trigger), .int(now)])
    }

    /// Claims the scheduled times that other workers took and didn't finish.
    func adopt() async throws -> [Run] {
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
        ).decode((String, String, Int64).self).map { Run(app: $0, trigger: $1, at: $2) }
    }

    /// Renews the claim on a scheduled time whose run is in progress.
    func renew(_ run: Run) async throws {
        try await client.execute(
            """
            update partita.trigger_moments set claimed_until = \(Self.claimEnd)
            where app = $1 and trigger = $2 and moment = $3
            """, run.key)
    }

    /// Removes a scheduled time whose run is done, or whose trigger no longer exists.
    func finish(_ run: Run) async throws {
        try await client.execute(
            "delete from partita.trigger_moments where app = $1 and trigger = $2 and moment = $3", run.key)
    }
}

import AppDefinition
import AppRegistry
import DocumentModel
import Foundation
import Lifecycle
import Logging
import Postgres

/// Runs scheduled triggers at their moments (UTC). The worker that takes a moment runs it; the others find it taken.
struct ScheduledTriggers: Service {
    let apps: AppDirectory
    let client: PostgresClient
    let runner: TriggerRunner
    let logger: Logger

    func run() async throws {
        try? await cancelWhenGracefulShutdown {  // ends by cancellation only
            while !Task.isCancelled {
                await fireDue(now: Int64(Date().timeIntervalSince1970 * 1000))
                try await Task.sleep(for: .seconds(1))
            }
        }
    }

    private func fireDue(now: Int64) async {
        for app in apps.apps.values {
            for trigger in app.definition.triggers where !trigger.isDisabled {
                guard case .schedule(let schedule) = trigger.event else { continue }
                do {
                    guard let moment = try await take(schedule, trigger, of: app, now: now) else { continue }
                    let event = TriggerEvent(
                        id: "schedule/\(moment)", argument: ["type": .string("SCHEDULED"), "time": .date(moment)],
                        time: moment)
                    try await runner.run(trigger, of: app, on: event)
                } catch {
                    logger.warning(
                        "a schedule waits", metadata: ["trigger.name": "\(trigger.name)", "error": "\(error)"])
                }
            }
        }
    }

    /// The last moment that is due and that nobody has taken; of several that were missed, the last one only.
    private func take(
        _ schedule: TriggerDefinition.Schedule, _ trigger: TriggerDefinition, of app: DeployedApp, now: Int64
    ) async throws -> Int64? {
        // The first sight of a trigger is where its schedule begins.
        let rows = try await client.query(
            """
            insert into partita.trigger_schedules as s (app, trigger, taken) values ($1, $2, to_timestamp($3::double precision / 1000))
            on conflict (app, trigger) do update set taken = s.taken
            returning (extract(epoch from taken) * 1000)::bigint
            """, [.text(app.id), .text(trigger.name), .int(now)])
        guard let taken = try rows.first?.decode(0, as: Int64.self), var moment = schedule.cron.next(after: taken),
            moment <= now
        else { return nil }
        while let next = schedule.cron.next(after: moment), next <= now { moment = next }
        let won = try await client.execute(
            """
            update partita.trigger_schedules set taken = to_timestamp($3::double precision / 1000)
            where app = $1 and trigger = $2 and taken < to_timestamp($3::double precision / 1000)
            """, [.text(app.id), .text(trigger.name), .int(moment)])
        return won == 1 ? moment : nil
    }
}

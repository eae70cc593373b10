import AppDefinition
import AppRegistry
import DocumentModel
import Lifecycle
import Logging

/// Runs scheduled triggers at their scheduled times (UTC), concurrently. The worker that takes a scheduled time runs the trigger; a
/// run that a worker leaves unfinished when it ends is repeated by another one, with the journal of what had been done.
struct ScheduledTriggers: Service {
    let apps: AppDirectory
    let table: ScheduleTable
    let runner: TriggerRunner
    let clock: WallClock
    let logger: Logger

    func run() async throws {
        try? await cancelWhenGracefulShutdown {  // ends by cancellation only
            try await withThrowingDiscardingTaskGroup { group in
                while true {
                    for moment in await due(now: clock.now()) {
                        group.addTask { await run(moment) }
                    }
                    try await Task.sleep(for: .seconds(1))
                }
            }
        }
    }

    /// The scheduled times that this worker has claimed and has to run.
    private func due(now: Int64) async -> [ScheduleTable.Moment] {
        var moments: [ScheduleTable.Moment] = []
        do {
            for app in apps.apps.values {
                for trigger in app.definition.triggers where !trigger.isDisabled {
                    guard case .schedule(let schedule) = trigger.event else { continue }
                    if let moment = try await table.take(schedule, app: app.id, trigger: trigger.name, now: now) {
                        moments.append(moment)
                    }
                }
            }
            moments += try await table.adopt()
        } catch {
            logger.warning("schedules wait", metadata: ["error": "\(error)"])
        }
        return moments
    }

    private func run(_ moment: ScheduleTable.Moment) async {
        do {
            try await withThrowingTaskGroup(of: Void.self) { group in
                group.addTask {
                    while true {
                        try await Task.sleep(for: ScheduleTable.claim / 3)
                        try await table.renew(moment)
                    }
                }
                defer { group.cancelAll() }
                // Nothing is run for a trigger that was removed or disabled meanwhile.
                if let app = apps.app(moment.app), let trigger = app.definition.trigger(moment.trigger),
                    !trigger.isDisabled
                {
                    let event = TriggerEvent(
                        id: "schedule/\(moment.at)",
                        argument: ["type": .string("SCHEDULED"), "time": .date(moment.at)], time: moment.at)
                    try await runner.run(trigger, of: app, on: event)
                }
                try await table.finish(moment)
            }
        } catch {
            // The claim expires by itself: this worker or another one repeats the run then.
            logger.warning(
                "a scheduled run is delayed", metadata: ["trigger.name": "\(moment.trigger)", "error": "\(error)"])
        }
    }
}

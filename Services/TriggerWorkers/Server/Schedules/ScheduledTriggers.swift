import AppDefinition
import AppRegistry
import DocumentModel
import EventLoop
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
    private let failures = Locked(FailureChanges())
    /// What this process is running.
    private let running = Locked<Set<ScheduleTable.Run>>([])

    func run() async throws {
        try? await cancelWhenGracefulShutdown {  // ends by cancellation only
            let claims = FailureReport("schedule-claims", logger: logger)
            try await withThrowingDiscardingTaskGroup { group in
                while true {
                    for run in await due(now: clock.now()) {
                        // Its claim may have expired while Postgres was unavailable.
                        guard running.withLock({ $0.insert(run).inserted }) else { continue }
                        group.addTask {
                            await perform(run, claims)
                            running.withLock { _ = $0.remove(run) }
                        }
                    }
                    try await Task.sleep(for: .seconds(1))
                }
            }
        }
    }

    /// The scheduled times that this worker has claimed and has to run.
    private func due(now: Int64) async -> [ScheduleTable.Run] {
        var runs: [ScheduleTable.Run] = []
        do {
            let standing = try await table.standing()
            for app in apps.apps.values {
                for trigger in app.definition.triggers
                where !trigger.isDisabled && app.pause(of: trigger.name) == nil {
                    guard case .schedule(let schedule) = trigger.event else { continue }
                    let taken = try await table.take(
                        schedule, app: app.id, trigger: trigger.name, since: app.beginning(of: trigger.name), now: now,
                        after: standing)
                    switch taken {
                    case .run(let run): runs.append(run)
                    case .overlapping(let run): note(run, trigger, "is skipped: the run before it isn't done")
                    case .missed(let run): note(run, trigger, "is skipped: it passed while no worker ran")
                    case nil: break
                    }
                }
            }
            runs += try await table.adopt()
            if failures.withLock({ $0.recovered() }) { logger.notice("schedules go on") }
        } catch {
            let isNew = failures.withLock { $0.isNew("\(error)") }
            logger.log(level: isNew ? .warning : .debug, "schedules wait", metadata: ["error": "\(error)"])
        }
        return runs
    }

    /// Tells the app's developers that the function doesn't run for a scheduled time.
    private func note(_ run: ScheduleTable.Run, _ trigger: TriggerDefinition, _ what: String) {
        TriggerMetrics.runs["skipped"].increment()
        runner.logs.add(
            .init(
                app: run.app, function: trigger.functionName, trigger: trigger.name, level: "warn",
                message: "the scheduled time \(ISODate.text(run.at)) \(what)"))
    }

    /// - Parameter claims: What has a claim that can't be renewed.
    private func perform(_ run: ScheduleTable.Run, _ claims: FailureReport) async {
        // Another worker's run of a trigger that was paused meanwhile: its claim expires, until the trigger is resumed.
        if apps.app(run.app)?.pause(of: run.trigger) != nil { return }
        do {
            try await withThrowingTaskGroup(of: Void.self) { group in
                group.addTask {
                    while true {
                        try await Task.sleep(for: ScheduleTable.claim / 3)
                        do {
                            try await table.renew(run)
                            claims.succeeded("the claims of scheduled runs are renewed again")
                        } catch {
                            claims.failed("the claim of a scheduled run can't be renewed now", error)
                        }
                    }
                }
                defer { group.cancelAll() }
                try apps.requireReadable([ExactText(run.app)])
                // Nothing is run for a trigger that was removed or disabled meanwhile.
                if let app = apps.app(run.app), let trigger = app.definition.trigger(run.trigger),
                    !trigger.isDisabled
                {
                    let event = TriggerEvent(
                        id: "schedule/\(run.trigger)/\(run.at)",
                        argument: ["type": .string("SCHEDULED"), "time": .date(run.at)], time: run.at)
                    try await runner.run(trigger, of: app, on: event)
                }
                try await table.finish(run)
            }
        } catch {
            // The claim expires by itself: this worker or another one repeats the run then.
            logger.warning(
                "a scheduled run is delayed", metadata: ["trigger.name": "\(run.trigger)", "error": "\(error)"])
        }
    }
}

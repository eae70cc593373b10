import AppDefinition
import AppRegistry
import ChangeStream
import DocumentModel
import DocumentStore
import EventLoop
import Lifecycle
import Logging
import Postgres
import QueryLanguage

/// Runs triggers that were resumed for what they have missed, those for the events of one document in order, and all events of an ordered
/// trigger, and then ends their pause. One
/// worker does it for a trigger; until the pause ends, new events are kept behind those that were missed.
struct ResumedTriggers: Service {
    let apps: AppDirectory
    let missed: MissedEvents
    let history: ChangeHistory
    let schedules: ScheduleTable
    let runner: TriggerRunner
    let clock: WallClock
    let logger: Logger

    /// The triggers that are being caught up.
    private let underWay = Locked<Set<ExactText>>([])

    private static let interval = Duration.seconds(1)
    private static let lease = Duration.seconds(15)
    private static let page = 200
    /// Documents whose events are handled at the same time: few, since present events wait for the same processes.
    private static let concurrency = 4
    /// Triggers that are caught up at the same time.
    private static let triggers = 32

    func run() async throws {
        try? await cancelWhenGracefulShutdown {  // ends by cancellation only
            try await withThrowingDiscardingTaskGroup { group in
                while true {
                    try await Task.sleep(for: Self.interval)
                    for app in apps.apps.values {
                        for pause in app.pausedTriggers where pause.isResuming && begin(pause.name, of: app) {
                            group.addTask {
                                await resume(pause.name, of: app)
                                underWay.withLock { _ = $0.remove(Self.key(pause.name, of: app)) }
                            }
                        }
                    }
                }
            }
        }
    }

    /// Whether a trigger is to be caught up by a task of its own: a slow one holds up no other.
    private func begin(_ name: String, of app: DeployedApp) -> Bool {
        underWay.withLock { $0.count < Self.triggers && $0.insert(Self.key(name, of: app)).inserted }
    }

    private static func key(_ name: String, of app: DeployedApp) -> ExactText { ExactText("\(app.id)/\(name)") }

    private func resume(_ name: String, of app: DeployedApp) async {
        do {
            _ = try await WorkLeases("resume \(app.id)/\(name)", client: missed.client).hold(for: Self.lease) {
                try await catchUp(name, of: app)
            }
        } catch {
            logger.warning(
                "a resumed trigger is delayed", metadata: ["trigger.name": "\(name)", "error": "\(error)"])
        }
    }

    private func catchUp(_ name: String, of app: DeployedApp) async throws {
        // A trigger that doesn't exist any more, or is disabled, has nothing to run for.
        guard let trigger = app.definition.trigger(name), !trigger.isDisabled else {
            _ = try await missed.endPause(of: name, app: app.id, dropping: true)
            return
        }
        if case .schedule = trigger.event, trigger.skipsWhatItMisses {
            try await schedules.skip(app: app.id, trigger: name, to: clock.now())
        }
        while true {
            let entries = try await missed.first(Self.page, of: name, app: app.id)
            if entries.isEmpty {
                if try await missed.endPause(of: name, app: app.id, dropping: false) { return }
                // It was paused again, or has just missed another event.
                let present = try await missed.first(1, of: name, app: app.id)
                if present.isEmpty { return }
                continue
            }
            guard apps.app(app.id)?.pause(of: name)?.isResuming == true else { return }  // it was paused again
            try await run(entries, trigger, of: app)
        }
    }

    private func run(_ entries: [MissedEvents.Entry], _ trigger: TriggerDefinition, of app: DeployedApp) async throws {
        var lanes: [[(MissedEvents.Entry, TriggerEvent?)]] = []
        var places: [ExactText: Int] = [:]
        for entry in entries {
            let (lane, event) = try await event(entry, trigger, of: app)
            if let place = places[lane] {
                lanes[place].append((entry, event))
            } else {
                places[lane] = lanes.count
                lanes.append([(entry, event)])
            }
        }
        try await withThrowingTaskGroup(of: Void.self) { group in
            var waiting = lanes.makeIterator()
            func addNext() {
                guard let lane = waiting.next() else { return }
                group.addTask {
                    for (entry, event) in lane {
                        if let event { try await self.runner.run(trigger, of: app, on: event) }
                        try await self.missed.finish(entry, of: trigger.name, app: app.id)
                    }
                }
            }
            for _ in 0..<Self.concurrency { addNext() }
            while try await group.next() != nil { addNext() }
        }
    }

    /// What the trigger runs for, and the document or account within which the order counts; no event where it doesn't run.
    private func event(
        _ entry: MissedEvents.Entry, _ trigger: TriggerDefinition, of app: DeployedApp
    ) async throws -> (lane: ExactText, event: TriggerEvent?) {
        switch entry.event {
        case .account(let event):
            return (ExactText(event.argument["user"]?.documentValue?["id"]?.stringValue ?? ""), event)
        case .change(let partition, let revision):
            guard let change = try await history.change(app: app.id, partition: partition, revision: revision) else {
                // It is older than changes are kept.
                TriggerMetrics.runs["skipped"].increment()
                logger.error(
                    "a trigger was paused for longer than changes are kept, and doesn't run for one",
                    metadata: ["trigger.name": "\(trigger.name)", "partition.id": "\(partition)"])
                return (ExactText(""), nil)
            }
            let order = trigger.isOrdered ? EventOrder.database : .document
            let lane = ExactText(order.lane(of: change.documentKey, in: change.namespace, app: app.id))
            guard case .database(let condition) = trigger.event, condition.concerns(change) else { return (lane, nil) }
            do throws(QueryError) {
                guard let argument = try condition.argument(for: change) else { return (lane, nil) }
                return (lane, TriggerEvent(change, argument: argument))
            } catch {
                try await runner.refuse(
                    trigger, of: app, on: TriggerEvent(change, argument: change.encoded()), because: error)
                return (lane, nil)
            }
        }
    }
}

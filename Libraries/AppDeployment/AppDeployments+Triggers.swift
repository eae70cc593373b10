import AppDefinition
import AppRegistry
import DocumentModel
import Foundation

extension AppDeployments {
    /// A trigger of a deployed app, as operators see it.
    public struct TriggerState: Sendable {
        public let name: String
        /// `enabled`, `disabled` by the app's files, `catching up` after a pause, or `paused by` whom.
        public let state: String
        public let function: String
        /// The dead letters that weren't replayed.
        public let deadLetters: Int64
        /// When a scheduled trigger runs next, in milliseconds since 1970; `nil` for other triggers, and for one that doesn't run.
        public let nextRun: Int64?
        /// How many events wait for the end of a pause; `nil` for a trigger that isn't paused.
        public let missedEvents: Int64?
    }

    /// The triggers of a deployed app, in the order of its definition, and those that were paused in a former version and aren't in this one.
    /// - Throws: `DeploymentError` with code `appUnknown`.
    public func triggers(of app: String) async throws -> [TriggerState] {
        let deployed = try await deployed(app)
        let failures = try await counts("trigger_failures", of: app, "and replayed_at is null")
        let missed = try await counts("trigger_missed_events", of: app)
        let now = Int64(Date().timeIntervalSince1970 * 1000)
        let present = deployed.definition.triggers.map { trigger in
            let pause = deployed.pause(of: trigger.name)
            var next: Int64?
            if case .schedule(let schedule) = trigger.event, !trigger.isDisabled, pause == nil {
                next = schedule.cron.next(after: now)
            }
            return TriggerState(
                name: trigger.name,
                state: trigger.isDisabled
                    ? "disabled" : pause.map { $0.isResuming ? "catching up" : "paused by \($0.by)" } ?? "enabled",
                function: trigger.functionName, deadLetters: failures[ExactText(trigger.name)] ?? 0, nextRun: next,
                missedEvents: pause.map { _ in missed[ExactText(trigger.name)] ?? 0 })
        }
        let gone = deployed.pausedTriggers.filter { deployed.definition.trigger($0.name) == nil }.map { pause in
            TriggerState(
                name: pause.name, state: "paused by \(pause.by), not in this version", function: "",
                deadLetters: failures[ExactText(pause.name)] ?? 0, nextRun: nil,
                missedEvents: missed[ExactText(pause.name)] ?? 0)
        }
        return present + gone
    }

    /// The number of changes of an app's documents that `trigger-workers` haven't handled yet, those that concern no trigger included.
    public func changesBeforeTriggers(of app: String) async throws -> Int64 {
        guard try await hasTable("handled_events") else { return 0 }
        return try await client.query(
            """
            select coalesce(sum(greatest(p.head - coalesce(h.watermark + cardinality(h.above), 0), 0)), 0)::bigint
            from partita.partitions p left join partita.handled_events h
                on h.consumer = 'trigger-workers' and h.app = p.app and h.partition = p.partition
            where p.app = $1
            """, [.text(app)]
        ).first?.decode(0) ?? 0
    }

    /// How many rows of a table each trigger of an app has. The services create the tables at their first start.
    private func counts(_ table: String, of app: String, _ condition: String = "") async throws -> [ExactText: Int64] {
        guard try await hasTable(table) else { return [:] }
        let rows = try await client.query(
            "select trigger, count(*) from partita.\(table) where app = $1 \(condition) group by trigger", [.text(app)]
        ).decode((String, Int64).self)
        return Dictionary(rows.map { (ExactText($0.0), $0.1) }, uniquingKeysWith: +)
    }

    /// Pauses a trigger of an app: it no longer runs, after at most some seconds. Deployments don't end the pause.
    ///
    /// What happens meanwhile is kept for ``resumeTrigger(_:of:)``, unless the trigger's configuration says `skip_catchup_events`.
    /// - Throws: `DeploymentError`: `appUnknown`, `triggerUnknown`, `triggerState` when it is paused already.
    public func pauseTrigger(_ name: String, of app: String) async throws {
        _ = try await trigger(name, of: app)
        guard try await registry.pauseTrigger(name, of: app, by: by) else {
            throw DeploymentError(.triggerState, "\(name) is paused already")
        }
        await announcePause(of: app)
    }

    /// Resumes a paused trigger: first it runs for what it has missed, in order, unless its configuration says `skip_catchup_events`; of
    /// the moments of a schedule that it missed, for the last one.
    /// - Throws: `DeploymentError`: `appUnknown`, `triggerUnknown`, `triggerState` when it isn't paused, or can't run for what it has missed
    ///   because the present version hasn't got it, or disables it.
    public func resumeTrigger(_ name: String, of app: String) async throws {
        let deployed = try await deployed(app)
        // A trigger that a later version doesn't have can still be resumed, which ends its pause, unless something waits for it.
        if deployed.pause(of: name) == nil { _ = try await trigger(name, of: app) }
        let present = deployed.definition.trigger(name)
        if present?.isDisabled ?? true,
            let missed = try await counts("trigger_missed_events", of: deployed.id)[ExactText(name)], missed > 0
        {
            throw DeploymentError(
                .triggerState,
                "\(missed) events wait for \(name), which the present version \(present == nil ? "doesn't have" : "disables"): deploy one that runs it, and resume it then; what waits is kept for 31 days"
            )
        }
        guard try await registry.resumeTrigger(name, of: app) else {
            throw DeploymentError(.triggerState, "\(name) isn't paused")
        }
        await announcePause(of: app)
    }

    private func announcePause(of app: String) async {
        guard let deployed = try? await registry.load(app) else { return }  // services poll
        _ = await announce(app, deployed)
    }

    private func trigger(_ name: String, of app: String) async throws -> TriggerDefinition {
        try await prepare()
        let definition = try await deployed(app).definition
        guard let trigger = definition.trigger(name) else {
            let names = definition.triggers.map(\.name).joined(separator: ", ")
            throw DeploymentError(
                .triggerUnknown, "\(app) has no trigger \(name)" + (names.isEmpty ? "" : "; there are: \(names)"))
        }
        return trigger
    }
}

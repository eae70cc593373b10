import EventStream
import Lifecycle
import Logging
import Postgres
import ServiceBootstrap

/// Deletes every hour what the trigger workers' tables no longer need, so that they don't grow for ever. Several workers may do
/// this at once.
struct TriggerRetention: Service {
    static let deadLetters = ConfigurationKey<Int>.int(
        "triggers.dead-letters", default: 100_000, range: 1...100_000_000,
        "Dead letters of an app that wait to be replayed or discarded, at most; the oldest ones beyond it are dropped.")

    let client: PostgresClient
    let logger: Logger
    /// How many log lines of functions are kept for each app, the latest ones. They are bounded because users can cause them, by
    /// calling functions that fail.
    var linesOfApp = 100_000
    /// How many dead letters of each app wait for an operator, the latest ones.
    let lettersOfApp: Int

    private static let interval = Duration.seconds(3600)
    /// How long log lines of functions are kept.
    private static let logs = Duration.seconds(7 * 86_400)
    /// Longer than a change is kept (`HistoryRetention`): after that an event can't be delivered again.
    private static let events = Duration.seconds(31 * 86_400)

    private var steps: [RepeatedSteps.Step] {
        [
            ("function-log-age", forgetOldLogs), ("function-log-count", forgetLogsBeyondLimit),
            ("missed-events", forgetMissed), ("replayed-failures", forgetReplayed),
            ("waiting-failures", forgetFailuresBeyondLimit), ("trigger-journals", forgetJournals),
            ("handled-triggers", forgetHandled),
        ]
    }

    func run() async throws { await RepeatedSteps(steps, every: Self.interval, logger: logger).run() }

    /// Deletes rows that are too old or too many.
    func sweep() async throws {
        for step in steps { try await step.perform() }
    }

    private func forgetOldLogs() async throws {
        try await forget("function_logs", by: "at", after: Self.logs)
    }

    private func forget(_ table: String, by time: String, after age: Duration) async throws {
        try await client.deleteOldest(
            from: "partita.\(table)", by: time, where: "\(time) < now() - make_interval(secs => $1)",
            [.double(age / .seconds(1))])
    }

    private func forgetLogsBeyondLimit() async throws {
        try await AppShares(client: client, table: "partita.function_logs", order: "at").deleteBeyond(linesOfApp)
    }

    /// The changes that they name are gone.
    private func forgetMissed() async throws {
        try await forget("trigger_missed_events", by: "missed_at", after: Self.events)
    }

    /// Dead letters that nobody sees any more.
    private func forgetReplayed() async throws {
        try await forget("trigger_failures", by: "replayed_at", after: Self.events)
    }

    /// Of those that wait for an operator, which nobody may ever look at, the latest stay. What their runs had recorded goes with the journals.
    private func forgetFailuresBeyondLimit() async throws {
        let shares = AppShares(
            client: client, table: "partita.trigger_failures", order: "id", condition: "replayed_at is null")
        for (app, count) in try await shares.deleteBeyond(lettersOfApp) {
            TriggerMetrics.droppedDeadLetters.increment(by: count)
            logger.error(
                "an app has too many dead letters: the oldest were dropped",
                metadata: ["app.id": "\(app)", "count": "\(count)"])
        }
    }

    /// Those of runs that have ended and that nobody can replay, such as one whose dead letter was replayed and is handled.
    private func forgetJournals() async throws {
        try await client.execute(
            """
            delete from partita.trigger_journal j using partita.handled_event_ids h
            where h.consumer = $1 and h.event_id = j.app || '/' || j.trigger || '/' || j.event and not exists (
                select from partita.trigger_failures f
                where f.app = j.app and f.trigger = j.trigger and f.event_id = j.event and f.replayed_at is null)
            """, [.text(HandledEvents.triggerRuns.consumer)])
    }

    private func forgetHandled() async throws {
        try await HandledEvents.triggerRuns.forgetIDs(olderThan: Self.events, on: client)
    }
}

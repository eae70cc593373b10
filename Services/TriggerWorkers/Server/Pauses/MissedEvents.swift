import AppDefinition
import AppRegistry
import DocumentModel
import EventStream
import Postgres

/// `partita.trigger_missed_events`: what paused triggers have missed.
struct MissedEvents: Sendable {
    /// An event that a trigger has missed.
    struct Entry: Sendable {
        let place: Int64
        let event: Event
    }

    enum Event: Sendable {
        case change(partition: Partition, revision: Revision)
        case account(TriggerEvent)
    }

    let client: PostgresClient

    /// Keeps an event for a trigger that is paused. One that doesn't make up for what it misses has handled the event by that, also when
    /// the event is delivered again after the pause.
    ///
    /// The pause is locked meanwhile: whoever ends it has seen the event before.
    /// - Returns: `false` when it isn't paused, or the pause has ended: the trigger has to run now.
    func take(
        _ event: Event, id: String, time: Int64, for trigger: TriggerDefinition, of app: DeployedApp
    ) async throws -> Bool {
        if app.pause(of: trigger.name) == nil { return false }
        return try await client.withTransaction { transaction in
            guard try await AppRegistry.isPaused(trigger.name, of: app.id, in: transaction) else { return false }
            if trigger.skipsWhatItMisses {
                let run = RunRecords.Run(app: app.id, trigger: trigger.name, event: id)
                _ = try await HandledEvents.triggerRuns.claim(eventID: run.id, in: transaction)
                return true
            }
            var (partition, revision, argument): (String?, Revision?, String?) = (nil, nil, nil)
            switch event {
            case .change(let place, let number): (partition, revision) = (place.text, number)
            case .account(let event): argument = ExtendedJSON.print(event.argument)
            }
            try await transaction.execute(
                """
                insert into partita.trigger_missed_events (app, trigger, event_id, partition, epoch, revision, argument, time)
                values ($1, $2, $3, $4, $5, $6, $7, $8) on conflict do nothing
                """,
                [
                    .text(app.id), .text(trigger.name), .text(id), PostgresValue(partition),
                    PostgresValue(revision.map { Int64($0.epoch) }), PostgresValue(revision?.number),
                    PostgresValue(argument), .int(time),
                ])
            return true
        }
    }

    /// The first events that a trigger has missed, in their order.
    func first(_ count: Int, of trigger: String, app: String) async throws -> [Entry] {
        let rows = try await client.query(
            """
            select place, event_id, partition, epoch, revision, argument, time from partita.trigger_missed_events
            where app = $1 and trigger = $2 order by place limit $3
            """, [.text(app), .text(trigger), .int(Int64(count))])
        return try rows.map { row in
            let (place, id, partition, epoch, revision, argument, time) = try row.decode(
                (Int64, String, String?, Int32?, Int64?, String?, Int64).self)
            if let partition, let epoch, let revision {
                return Entry(
                    place: place,
                    event: .change(
                        partition: Partition(text: partition), revision: Revision(epoch: epoch, number: revision)))
            }
            return Entry(
                place: place,
                event: .account(
                    TriggerEvent(id: id, argument: try ExtendedJSON.parseDocument(argument ?? "{}"), time: time)))
        }
    }

    /// Forgets an event that the trigger has run for.
    func finish(_ entry: Entry, of trigger: String, app: String) async throws {
        try await client.execute(
            "delete from partita.trigger_missed_events where app = $1 and trigger = $2 and place = $3",
            [.text(app), .text(trigger), .int(entry.place)])
    }

    /// Ends the pause of a trigger that was resumed, if it has missed nothing more.
    /// - Parameter dropping: forgets what it has missed.
    /// - Returns: whether the pause has ended.
    func endPause(of trigger: String, app: String, dropping: Bool) async throws -> Bool {
        try await client.withTransaction { transaction in
            guard try await AppRegistry.isPaused(trigger, of: app, exclusively: true, in: transaction) else {
                return true
            }
            if dropping {
                try await transaction.execute(
                    "delete from partita.trigger_missed_events where app = $1 and trigger = $2",
                    [.text(app), .text(trigger)])
            }
            let rest = try await transaction.query(
                "select from partita.trigger_missed_events where app = $1 and trigger = $2 limit 1",
                [.text(app), .text(trigger)])
            guard rest.isEmpty else { return false }
            return try await AppRegistry.endPause(of: trigger, app: app, in: transaction)
        }
    }
}

extension TriggerDefinition {
    /// Whether the trigger doesn't run for what it misses while it is paused.
    var skipsWhatItMisses: Bool {
        switch event {
        case .database(let event): event.skipsCatchUpEvents
        case .schedule(let schedule): schedule.skipsCatchUpEvents
        case .authentication: false
        }
    }
}

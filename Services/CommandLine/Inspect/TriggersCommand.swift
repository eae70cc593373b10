import AppDefinition
import AppRegistry
import DocumentModel
import EventTopics
import Postgres

/// `partita triggers`: their state, dead letters, replay.
enum TriggersCommand {
    static let command = Command(
        name: "triggers", summary: "Show an app's triggers and their dead letters, and replay one",
        options: [
            .init("app", value: "ID", "the app (default: rchat)"),
            .init("failures", "list the events that were put aside"),
            .init("replay", value: "NUMBER", "offer a dead letter to its trigger again"),
            LocalConfiguration.option,
        ]
    ) { arguments in
        let app = arguments.value("app") ?? "rchat"
        try await Tool.run(try LocalConfiguration(arguments: arguments)) { tool in
            if let number = try arguments.int("replay", in: 1...Int.max) {
                try await replay(number, app: app, tool: tool)
            } else if arguments.has("failures") {
                try await listFailures(app, tool: tool)
            } else {
                try await list(app, tool: tool)
            }
        }
    }

    private static func list(_ app: String, tool: Tool) async throws {
        guard let deployed = try await tool.registry.load(app) else { throw UsageError("no app \(app) is deployed") }
        let rows = try await tool.postgres.query(
            "select trigger, count(*) from partita.trigger_failures where app = $1 and replayed_at is null group by trigger",
            [.text(app)])
        let failures = Dictionary(uniqueKeysWithValues: try rows.decode((String, Int64).self).map { ($0, $1) })
        for trigger in deployed.definition.triggers {
            let state = trigger.isDisabled ? "disabled" : "enabled"
            print(
                "\(trigger.name)  \(state)  runs \(trigger.functionName)  \(failures[trigger.name] ?? 0) dead letters")
        }
    }

    private static func listFailures(_ app: String, tool: Tool) async throws {
        let rows = try await tool.postgres.query(
            """
            select id, to_char(failed_at at time zone 'utc', 'YYYY-MM-DD HH24:MI:SS'), trigger, event_id,
                code || ': ' || message || coalesce(' (' || function || coalesce(':' || line, '') || ')', '')
            from partita.trigger_failures where app = $1 and replayed_at is null order by id
            """, [.text(app)])
        for (id, at, trigger, event, reason) in try rows.decode((Int64, String, String, String, String).self) {
            print("\(id)  \(at)  \(trigger)  \(event)  \(reason)")
        }
    }

    /// The event comes again under its own id, which is forgotten as handled in the same transaction.
    private static func replay(_ number: Int, app: String, tool: Tool) async throws {
        let event = try await tool.postgres.withTransaction { transaction -> Document in
            let rows = try await transaction.query(
                """
                update partita.trigger_failures set replayed_at = now()
                where id = $1 and app = $2 and replayed_at is null returning trigger, event_id, event
                """, [.int(Int64(number)), .text(app)])
            guard let (trigger, id, event) = try rows.decode((String, String, String).self).first else {
                throw UsageError("no dead letter \(number) of \(app) waits; `partita triggers --failures` lists them")
            }
            _ = try await transaction.query(
                "delete from partita.handled_event_ids where consumer = 'trigger-workers' and event_id = $1",
                [.text("\(app)/\(trigger)/\(id)")])
            return try ExtendedJSON.parseDocument(event)
        }
        try await tool.withProducer { producer in
            guard event["ns"] != nil else { throw UsageError("only events of documents can be replayed") }
            _ = try await producer.send(DocumentChangesEvent.change(try ChangeEvent(event)))
        }
        print("the event is offered again")
    }
}

import Auth
import DocumentModel
import EventTopics
import Postgres

/// `partita triggers`: their state, dead letters, replay.
enum TriggersCommand {
    static let command = Command(
        name: "triggers", summary: "Show an app's triggers and their dead letters, and replay one",
        options: [
            Command.appOption,
            .init("failures", "list the dead letters"),
            .init("replay", value: "NUMBER", "run the trigger again for a dead letter"),
            Output.option,
        ] + AdminSession.options
    ) { arguments in
        let number = try arguments.int("replay", in: 1...Int.max)
        guard number != nil || arguments.has("failures") else { return try await list(arguments) }
        guard arguments.value("server") == nil else {
            throw UsageError("dead letters are listed and replayed by Postgres, not by --server")
        }
        try await Tool.run(try LocalConfiguration(arguments: arguments)) { tool in
            let app = try await tool.app(arguments.app)
            if let number {
                try await replay(number, app: app.id, tool: tool)
            } else {
                try await listFailures(app.id, tool: tool, isJSON: arguments.has("json"))
            }
        }
    }

    private static func list(_ arguments: Arguments) async throws {
        try await AdminSession.run(arguments) { session in
            let list = try await session.document(
                AdminCall(.listTriggers, ["app": try await session.app(arguments.app)]))
            for trigger in (list["triggers"]?.arrayValue ?? []).compactMap(\.documentValue) {
                func text(_ name: String) -> String { trigger[name]?.stringValue ?? "" }
                Output.row(
                    trigger, isJSON: arguments.has("json"),
                    "\(text("trigger"))  \(text("state"))  runs \(text("function"))  \(trigger["deadLetters"]?.int64Value ?? 0) dead letters"
                )
            }
        }
    }

    private static func listFailures(_ app: String, tool: Tool, isJSON: Bool) async throws {
        let rows = try await tool.postgres.query(
            """
            select id, to_char(failed_at at time zone 'utc', 'YYYY-MM-DD HH24:MI:SS'), trigger, event_id,
                code || ': ' || message || coalesce(' (' || function || coalesce(':' || line, '') || ')', '')
            from partita.trigger_failures where app = $1 and replayed_at is null order by id
            """, [.text(app)])
        for (id, at, trigger, event, reason) in try rows.decode((Int64, String, String, String, String).self) {
            Output.row(
                [
                    "number": .int64(id), "at": .string(at), "trigger": .string(trigger), "event": .string(event),
                    "reason": .string(reason),
                ], isJSON: isJSON, "\(id)  \(at)  \(trigger)  \(event)  \(reason)")
        }
    }

    /// The event is published again under its own id, after the record that it was handled is deleted. The dead letter is marked as
    /// replayed only when the broker has the event: if anything fails before, it can be replayed again.
    private static func replay(_ number: Int, app: String, tool: Tool) async throws {
        let rows = try await tool.postgres.query(
            """
            select trigger, event_id, event from partita.trigger_failures
            where id = $1 and app = $2 and replayed_at is null
            """, [.int(Int64(number)), .text(app)])
        guard let (trigger, id, text) = try rows.decode((String, String, String).self).first else {
            throw ToolError("\(app) has no dead letter \(number); `partita triggers --failures` lists them")
        }
        let event = try ExtendedJSON.parseDocument(text)
        guard event["ns"] != nil else {
            throw ToolError("dead letter \(number) of \(trigger) isn't of a document, and only those can be replayed")
        }
        _ = try await tool.postgres.query(
            "delete from partita.handled_event_ids where consumer = 'trigger-workers' and event_id = $1",
            [.text("\(app)/\(trigger)/\(id)")])
        try await tool.withProducer { producer in
            _ = try await producer.send(DocumentChangesEvent.change(try ChangeEvent(event)))
        }
        _ = try await tool.postgres.query(
            "update partita.trigger_failures set replayed_at = now() where id = $1", [.int(Int64(number))])
        Output.line("the event is published again")
    }
}

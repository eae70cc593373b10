import Auth
import DocumentModel

/// `partita triggers`: their state, dead letters, replay.
enum TriggersCommand {
    static let command = Command(
        name: "triggers",
        summary:
            "Show an app's triggers, their next runs, missed events and dead letters, and replay or discard a dead letter",
        options: [
            Command.appOption,
            .init("failures", "list the dead letters"),
            .init("failure", value: "NUMBER", "show a dead letter with the event that the trigger received"),
            .init("replay", value: "NUMBER", "run the trigger again for a dead letter"),
            .init(
                "anew", "with --replay: run from the beginning, also what it has written, instead of going on after it"),
            .init("discard", value: "NUMBER", "delete a dead letter"),
            Output.option,
        ] + AdminSession.options
    ) { arguments in
        let acts: [(option: String, action: AdminAction)] = [
            ("failure", .showDeadLetter), ("replay", .replayDeadLetter), ("discard", .discardDeadLetter),
        ]
        let given = acts.filter { arguments.has($0.option) }
        guard given.count + (arguments.has("failures") ? 1 : 0) <= 1 else {
            throw UsageError("only one of --failures, --failure, --replay and --discard can be given")
        }
        guard !arguments.has("anew") || arguments.has("replay") else {
            throw UsageError("--anew belongs to --replay")
        }
        let number = try given.first.map { try arguments.int($0.option, in: 1...Int.max) ?? 0 } ?? 0
        try await AdminSession.run(arguments) { session in
            let app = try await session.app(arguments.app)
            let isJSON = arguments.has("json")
            if let action = given.first?.action {
                let answer = try await session.document(
                    AdminCall(
                        action, ["app": app, "number": "\(number)"],
                        query: arguments.has("anew") ? ["anew": "true"] : [:]))
                tell(action, number, answer)
            } else if arguments.has("failures") {
                try await listFailures(of: app, session, isJSON: isJSON)
            } else {
                try await list(app, session, isJSON: isJSON)
            }
        }
    }

    private static func list(_ app: String, _ session: AdminSession, isJSON: Bool) async throws {
        let list = try await session.document(AdminCall(.listTriggers, ["app": app]))
        for trigger in (list["triggers"]?.arrayValue ?? []).compactMap(\.documentValue) {
            func text(_ name: String) -> String { trigger[name]?.stringValue ?? "" }
            let parts = [
                text("trigger"), text("state"), "runs \(text("function"))",
                "\(trigger["deadLetters"]?.int64Value ?? 0) dead letters",
                trigger["nextRun"]?.dateValue.map { "next run \(ISODate.text($0))" },
                trigger["missedEvents"]?.int64Value.map { "\($0) missed events" },
            ]
            Output.row(trigger, isJSON: isJSON, parts.compactMap(\.self).joined(separator: "  "))
        }
        if !isJSON, let waiting = list["waitingChanges"]?.int64Value, waiting > 0 {
            Progress.line(
                "\(waiting) changes of documents wait for the workers, which look which triggers they concern")
        }
    }

    private static func listFailures(of app: String, _ session: AdminSession, isJSON: Bool) async throws {
        var last: Int64 = 0
        while true {
            let answer = try await session.document(
                AdminCall(
                    .listDeadLetters, ["app": app],
                    query: ["after": "\(last)", "limit": "\(Administration.pageLimit)"]))
            let letters = (answer["deadLetters"]?.arrayValue ?? []).compactMap(\.documentValue)
            for letter in letters {
                func text(_ name: String) -> String { letter[name]?.stringValue ?? "" }
                last = letter["number"]?.int64Value ?? last
                Output.row(
                    letter, isJSON: isJSON,
                    "\(last)  \(text("at"))  \(text("trigger"))  \(text("event"))  \(text("reason"))")
            }
            if letters.count < Int(Administration.pageLimit) { return }
        }
    }

    private static func tell(_ action: AdminAction, _ number: Int, _ answer: Document) {
        switch action {
        case .replayDeadLetter: Output.line("the event is published again")
        case .discardDeadLetter: Output.line("dead letter \(number) is deleted")
        default: Output.line(ExtendedJSON.print(.document(answer), mode: .relaxed))
        }
    }
}

import Auth
import DocumentModel

/// `partita users …`: an app's users, for its operators.
enum UserCommands {
    static let all = [list, show, disable, enable, delete, export, sessions, signOut]

    private static let userParameter = "USER"
    private static let page = 500

    static let list = Command(
        name: "users list", summary: "Show an app's users",
        options: [Command.appOption, Output.option, LocalConfiguration.option]
    ) { arguments in
        try await with(arguments) { users in
            var last = ""
            while true {
                let page = try await users.list(after: last, limit: Self.page)
                for user in page {
                    Output.row(user, isJSON: arguments.has("json"), line(user))
                    last = user["id"]?.stringValue ?? last
                }
                if page.count < Self.page { return }
            }
        }
    }

    static let show = command("show", "Show a user: identities, profile, state") { users, id, _ in
        Output.line(ExtendedJSON.print(try await users.user(id) ?? Document(), mode: .relaxed))
    }

    static let disable = command("disable", "Disable a user: sessions end, and signing in is refused") {
        users, id, _ in
        try await users.setDisabled(true, id)
        Output.line("\(id) is disabled; devices are disconnected within seconds")
    }

    static let enable = command("enable", "Enable a disabled user again") { users, id, _ in
        try await users.setDisabled(false, id)
        Output.line("\(id) is enabled")
    }

    static let delete = command("delete", "Delete a user's account; documents stay") { users, id, _ in
        try await users.delete(id)
        Output.line("\(id) is deleted; devices are disconnected within seconds")
    }

    static let export = command(
        "export", "Print all that auth has of a user, as one JSON object; `documents find` has the user's documents"
    ) { users, id, _ in
        Output.line(ExtendedJSON.print(try await users.export(id) ?? Document(), mode: .relaxed))
    }

    static let sessions = command("sessions", "Show a user's active sessions", options: [Output.option]) {
        users, id, arguments in
        for session in try await users.sessions(ofUser: id) {
            func text(_ name: String) -> String { session[name]?.stringValue ?? "" }
            Output.row(
                session, isJSON: arguments.has("json"),
                "\(text("_id"))  device \(text("device"))  \(text("provider_type"))  \(text("platform"))  \(text("address"))"
            )
        }
    }

    static let signOut = command(
        "sign-out", "End a user's sessions, or the one that is named", parameters: ["SESSION?"]
    ) { users, id, arguments in
        if let session = arguments.parameter("SESSION") {
            try await users.endSession(session, ofUser: id)
            Output.line("the session \(session) has ended")
        } else {
            try await users.endSessions(ofUser: id)
            Output.line("all sessions of \(id) have ended")
        }
    }

    // MARK: Parts of the commands

    private static func command(
        _ name: String, _ summary: String, parameters: [String] = [], options: [Command.Option] = [],
        _ run: @escaping @Sendable (AccountAdministration, String, Arguments) async throws -> Void
    ) -> Command {
        Command(
            name: "users \(name)", summary: summary, parameters: [userParameter] + parameters,
            options: [Command.appOption] + options + [LocalConfiguration.option]
        ) { arguments in
            let text = try arguments.required(userParameter)
            try await with(arguments) { users in
                guard let id = try await users.id(of: text) else {
                    throw ToolError("no user has the id or the e-mail address \(text)")
                }
                try await run(users, id, arguments)
            }
        }
    }

    private static func with(
        _ arguments: Arguments, _ body: @Sendable (AccountAdministration) async throws -> Void
    ) async throws {
        try await Tool.run(try LocalConfiguration(arguments: arguments)) { tool in
            let app = try await tool.app(arguments.app).id
            try await AccountAdministration.migrate(tool.postgres)
            try await body(AccountAdministration(client: tool.postgres, app: app))
        }
    }

    private static func line(_ user: Document) -> String {
        let identities = (user["identities"]?.arrayValue ?? []).compactMap { $0["provider_type"]?.stringValue }
        let state = user["disabled"] == true ? "disabled" : user["pending"] == true ? "not confirmed" : "active"
        let email = user["data"]?["email"]?.stringValue ?? ""
        return "\(user["id"]?.stringValue ?? "")  \(state)  \(identities.joined(separator: ","))  \(email)"
    }
}

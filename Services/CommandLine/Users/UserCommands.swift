import Auth
import DocumentModel

/// `partita users …`: an app's users, for its operators.
enum UserCommands {
    static let all = [list, show, disable, enable, delete, export, sessions, signOut]

    private static let userParameter = "USER"
    private static let page = 500

    static let list = Command(
        name: "users list", summary: "Show an app's users",
        options: [Command.appOption, Output.option] + AdminSession.options
    ) { arguments in
        try await AdminSession.run(arguments) { session in
            let app = try await session.app(arguments.app)
            var last = ""
            while true {
                let page =
                    try await session.document(
                        AdminCall(.listUsers, ["app": app], query: ["after": last, "limit": "\(Self.page)"])
                    )["users"]?.arrayValue ?? []
                for user in page.compactMap(\.documentValue) {
                    Output.row(user, isJSON: arguments.has("json"), line(user))
                    last = user["id"]?.stringValue ?? last
                }
                if page.count < Self.page { return }
            }
        }
    }

    static let show = command("show", "Show a user: identities, profile, state") { user, _ in
        Output.line(ExtendedJSON.print(try await user.document(.showUser), mode: .relaxed))
    }

    static let disable = command("disable", "Disable a user: sessions end, and signing in is refused") { user, _ in
        let id = try await user.id()
        try await user.perform(.disableUser)
        Output.line("\(id) is disabled; devices are disconnected within seconds")
    }

    static let enable = command("enable", "Enable a disabled user again") { user, _ in
        let id = try await user.id()
        try await user.perform(.enableUser)
        Output.line("\(id) is enabled")
    }

    static let delete = command("delete", "Delete a user's account; documents stay") { user, _ in
        let id = try await user.id()
        try await user.perform(.deleteUser)
        Output.line("\(id) is deleted; devices are disconnected within seconds")
    }

    static let export = command(
        "export", "Print all that auth has of a user, as one JSON object; `documents find` has the user's documents"
    ) { user, _ in
        Output.line(ExtendedJSON.print(try await user.document(.exportUser), mode: .relaxed))
    }

    static let sessions = command("sessions", "Show a user's active sessions", options: [Output.option]) {
        user, arguments in
        let list = try await user.document(.listSessions)
        for session in (list["sessions"]?.arrayValue ?? []).compactMap(\.documentValue) {
            func text(_ name: String) -> String { session[name]?.stringValue ?? "" }
            Output.row(
                session, isJSON: arguments.has("json"),
                "\(text("_id"))  device \(text("device"))  \(text("provider_type"))  \(text("platform"))  \(text("address"))"
            )
        }
    }

    static let signOut = command(
        "sign-out", "End a user's sessions, or the one that is named", parameters: ["SESSION?"]
    ) { user, arguments in
        if let session = arguments.parameter("SESSION") {
            try await user.perform(.endSession, session: session)
            Output.line("the session \(session) has ended")
        } else {
            let id = try await user.id()
            try await user.perform(.endSessions)
            Output.line("all sessions of \(id) have ended")
        }
    }

    // MARK: Parts of the commands

    /// The user whom a command is about.
    private struct Named: Sendable {
        let session: AdminSession
        let app: String
        /// An id, or an e-mail address.
        let text: String

        /// The user's id.
        func id() async throws -> String {
            ObjectId(hexString: text) != nil ? text : try await document(.showUser)["id"]?.stringValue ?? text
        }

        func document(_ action: AdminAction) async throws -> Document {
            try await session.document(AdminCall(action, ["app": app, "user": text]))
        }

        func perform(_ action: AdminAction, session id: String = "") async throws {
            _ = try await session.perform(AdminCall(action, ["app": app, "user": text, "session": id]))
        }
    }

    private static func command(
        _ name: String, _ summary: String, parameters: [String] = [], options: [Command.Option] = [],
        _ run: @escaping @Sendable (Named, Arguments) async throws -> Void
    ) -> Command {
        Command(
            name: "users \(name)", summary: summary, parameters: [userParameter] + parameters,
            options: [Command.appOption] + options + AdminSession.options
        ) { arguments in
            let text = try arguments.required(userParameter)
            try await AdminSession.run(arguments) { session in
                try await run(Named(session: session, app: try await session.app(arguments.app), text: text), arguments)
            }
        }
    }

    private static func line(_ user: Document) -> String {
        let identities = (user["identities"]?.arrayValue ?? []).compactMap { $0["provider_type"]?.stringValue }
        let state = user["disabled"] == true ? "disabled" : user["pending"] == true ? "not confirmed" : "active"
        let email = user["data"]?["email"]?.stringValue ?? ""
        return "\(user["id"]?.stringValue ?? "")  \(state)  \(identities.joined(separator: ","))  \(email)"
    }
}

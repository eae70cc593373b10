import Auth
import DocumentModel

/// `partita api-key …`: an app's server API keys, with which programs of the team sign in.
enum APIKeyCommands {
    static let all = [create, list, disable, enable, delete]

    static let create = command(
        "create", .makeServerKey, "Make a server API key, and print it; it can't be shown again"
    ) { $1["key"]?.stringValue ?? "" }

    static let list = Command(
        name: "api-key list", summary: "Show an app's server API keys, and the ids of their users",
        options: [Command.appOption, Output.option] + AdminSession.options
    ) { arguments in
        try await AdminSession.run(arguments) { session in
            let list = try await session.document(
                AdminCall(.listServerKeys, ["app": try await session.app(arguments.app)]))
            for key in (list["keys"]?.arrayValue ?? []).compactMap(\.documentValue) {
                func text(_ name: String) -> String { key[name]?.stringValue ?? "" }
                Output.row(
                    key, isJSON: arguments.has("json"),
                    "\(text("name"))  \(text("user"))  \(key["disabled"] == true ? "disabled" : "active")")
            }
        }
    }

    static let disable = command(
        "disable", .disableServerKey, "Keep a server API key from signing in; its sessions end"
    ) { name, _ in "\(name) is disabled" }

    static let enable = command("enable", .enableServerKey, "Let a disabled server API key sign in again") { name, _ in
        "\(name) is enabled"
    }

    static let delete = command("delete", .deleteServerKey, "Delete a server API key with its user") { name, _ in
        "\(name) is deleted"
    }

    /// - Parameter told: what the command prints, of the key's name and the answer.
    private static func command(
        _ verb: String, _ action: AdminAction, _ summary: String,
        told: @escaping @Sendable (_ name: String, _ answer: Document) -> String
    ) -> Command {
        Command(
            name: "api-key \(verb)", summary: summary, parameters: ["NAME"],
            options: [Command.appOption] + AdminSession.options
        ) { arguments in
            let name = try arguments.required("NAME")
            try await AdminSession.run(arguments) { session in
                let answer = try await session.document(
                    AdminCall(action, ["app": try await session.app(arguments.app), "key": name]))
                Output.line(told(name, answer))
            }
        }
    }
}

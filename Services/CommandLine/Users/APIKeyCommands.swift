import Auth
import DocumentModel

/// `partita api-key …`: an app's server API keys, with which programs of the team sign in.
enum APIKeyCommands {
    static let all = [create, list, disable, enable, delete]

    static let create = command("create", "Make a server API key, and print it; it can't be shown again") {
        keys, name in
        Output.line(try await keys.make(named: name))
    }

    static let list = Command(
        name: "api-key list", summary: "Show an app's server API keys, and the ids of their users",
        options: [Command.appOption, Output.option, LocalConfiguration.option]
    ) { arguments in
        try await with(arguments) { keys in
            for key in try await keys.list() {
                func text(_ name: String) -> String { key[name]?.stringValue ?? "" }
                Output.row(
                    key, isJSON: arguments.has("json"),
                    "\(text("name"))  \(text("user"))  \(key["disabled"] == true ? "disabled" : "active")")
            }
        }
    }

    static let disable = command("disable", "Keep a server API key from signing in; its sessions end") { keys, name in
        try await keys.setDisabled(true, named: name)
        Output.line("\(name) is disabled")
    }

    static let enable = command("enable", "Let a disabled server API key sign in again") { keys, name in
        try await keys.setDisabled(false, named: name)
        Output.line("\(name) is enabled")
    }

    static let delete = command("delete", "Delete a server API key with its user") { keys, name in
        try await keys.delete(named: name)
        Output.line("\(name) is deleted")
    }

    private static func command(
        _ verb: String, _ summary: String, _ run: @escaping @Sendable (ServerKeys, String) async throws -> Void
    ) -> Command {
        Command(
            name: "api-key \(verb)", summary: summary, parameters: ["NAME"],
            options: [Command.appOption, LocalConfiguration.option]
        ) { arguments in
            let name = try arguments.required("NAME")
            try await with(arguments) { try await run($0, name) }
        }
    }

    private static func with(_ arguments: Arguments, _ body: @Sendable (ServerKeys) async throws -> Void) async throws {
        try await Tool.run(try LocalConfiguration(arguments: arguments)) { tool in
            let app = try await tool.app(arguments.app).id
            try await AccountAdministration.migrate(tool.postgres)
            try await body(ServerKeys(client: tool.postgres, app: app))
        }
    }
}

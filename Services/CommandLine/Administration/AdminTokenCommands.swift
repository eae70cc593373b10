import Auth
import DocumentModel

/// `partita admin-tokens …`: the tokens of the administration API, for whoever has access to Postgres.
enum AdminTokenCommands {
    static let all = [create, list, revoke]

    static let create = Command(
        name: "admin-tokens create",
        summary: "Make a token of the administration API, and print it; it can't be shown again",
        options: [
            .init(
                "role", value: "ROLE", repeats: true,
                "what it admits to: \(AdminRole.allCases.map(\.rawValue).joined(separator: ", ")); may be repeated"),
            .init("name", value: "NAME", "what the audit log calls it (default: who makes it, and where)"),
            .init("app", value: "ID", "the only app that it is for (default: all apps)"),
            .init("expires", value: "DAYS", "when it expires (default: never)"), LocalConfiguration.option,
        ]
    ) { arguments in
        let roles = try arguments.all("role").map { text in
            guard let role = AdminRole(rawValue: text) else {
                throw UsageError(
                    "--role takes one of \(AdminRole.allCases.map(\.rawValue).joined(separator: ", ")), not \(text)")
            }
            return role
        }
        guard !roles.isEmpty else { throw UsageError("--role is missing") }
        let days = try arguments.int("expires", in: 1...3660)
        try await with(arguments) { tokens in
            Output.line(
                try await tokens.make(
                    named: arguments.value("name") ?? Tool.operator, roles: Set(roles), app: arguments.app, days: days))
        }
    }

    static let list = Command(
        name: "admin-tokens list", summary: "Show the tokens of the administration API, the newest first",
        options: [Output.option, LocalConfiguration.option]
    ) { arguments in
        try await with(arguments) { tokens in
            for token in try await tokens.list() {
                func text(_ name: String) -> String { token[name]?.stringValue ?? "" }
                let roles = (token["roles"]?.arrayValue ?? []).compactMap(\.stringValue).joined(separator: ",")
                let expiry = token["expiresAt"]?.dateValue.map { "  until \(ISODate.text($0))" } ?? ""
                Output.row(
                    token, isJSON: arguments.has("json"),
                    "\(text("id"))  \(text("state"))  \(roles)  \(token["app"]?.stringValue ?? "all apps")  \(text("name"))\(expiry)"
                )
            }
        }
    }

    static let revoke = Command(
        name: "admin-tokens revoke", summary: "Revoke a token of the administration API, by its id",
        parameters: ["ID"], options: [LocalConfiguration.option]
    ) { arguments in
        let id = try arguments.required("ID")
        try await with(arguments) { tokens in
            try await tokens.revoke(id)
            Output.line("\(id) is revoked")
        }
    }

    private static func with(
        _ arguments: Arguments, _ body: @Sendable (AdminTokens) async throws -> Void
    ) async throws {
        try await Tool.run(try LocalConfiguration(arguments: arguments)) { tool in
            try await AccountAdministration.migrate(tool.postgres)
            try await body(AdminTokens(client: tool.postgres))
        }
    }
}

import AppRegistry
import Auth
import DocumentModel
import Foundation
import Secrets

/// `partita secret …`: the secrets that an app's providers and values refer to, and that no file of the app contains.
enum SecretCommands {
    static let set = Command(
        name: "secret set", summary: "Set a secret of an app; its value comes from standard input",
        parameters: ["NAME"], options: [Command.appOption] + AdminSession.options
    ) { arguments in
        let name = try arguments.required("NAME")
        // Not an argument: other users of the machine see those.
        var bytes = try FileHandle.standardInput.read(upToCount: Administration.secretLimit + 2) ?? Data()
        if bytes.last == UInt8(ascii: "\n") { bytes.removeLast() }
        guard let value = String(data: bytes, encoding: .utf8), !value.isEmpty, !value.utf8.contains(0) else {
            throw ToolError("standard input isn't UTF-8 text, or is empty")
        }
        try await AdminSession.run(arguments) { session in
            let app = try await session.app(arguments.app)
            let body = ExtendedJSON.print(.document(["value": .string(value)]))
            _ = try await session.perform(
                AdminCall(.setSecret, ["app": app, "secret": name], body: Array(body.utf8)))
            Output.line("\(name) is set for \(app); services have it within seconds")
        }
    }

    static let list = Command(
        name: "secret list", summary: "Show an app's secrets: which are set, and which the app uses but aren't set",
        options: [Command.appOption, Output.option] + AdminSession.options
    ) { arguments in
        try await AdminSession.run(arguments) { session in
            let list = try await session.document(
                AdminCall(.listSecrets, ["app": try await session.app(arguments.app)]))
            for secret in (list["secrets"]?.arrayValue ?? []).compactMap(\.documentValue) {
                Output.row(
                    secret, isJSON: arguments.has("json"),
                    "\(secret["name"]?.stringValue ?? "")  \(secret["isSet"] == true ? "set" : "not set")")
            }
        }
    }

    static let rotate = Command(
        name: "secret rotate",
        summary: "Encrypt all secrets with the first of encryption.keys, and show which keys are in use",
        options: [Output.option, LocalConfiguration.option]
    ) { arguments in
        let configuration = try LocalConfiguration(arguments: arguments)
        try await Tool.run(configuration) { tool in
            let keys = configuration.keys
            guard let current = keys.ids.first else {
                throw ToolError("encryption.keys (PARTITA_ENCRYPTION_KEYS) isn't set: there is nothing to encrypt with")
            }
            try await AccountAdministration.migrate(tool.postgres)
            try await tool.registry.resealSecrets()
            let secrets = try await tool.registry.secretKeyUses()
            let signing = try await tool.administration.signingKeyUses()
            for use in Set(secrets.keys).union(signing.keys).union(keys.ids.map { .key($0) }).sorted(by: {
                $0.text < $1.text
            }) {
                let isCurrent = use == .key(current)
                Output.row(
                    [
                        "key": .string(use.text), "isCurrent": .bool(isCurrent),
                        "secrets": .int64(Int64(secrets[use] ?? 0)), "signingKeys": .int64(Int64(signing[use] ?? 0)),
                    ], isJSON: arguments.has("json"),
                    "\(use.text)\(isCurrent ? "  current" : "")  \(secrets[use] ?? 0) secrets, \(signing[use] ?? 0) signing keys"
                )
            }
            if signing.keys.contains(where: { $0 != .key(current) }) {
                Progress.line("auth encrypts its signing keys itself, within a minute of a start with these keys")
            }
        }
    }

    static let remove = Command(
        name: "secret remove", summary: "Remove a secret of an app", parameters: ["NAME"],
        options: [Command.appOption] + AdminSession.options
    ) { arguments in
        let name = try arguments.required("NAME")
        try await AdminSession.run(arguments) { session in
            let app = try await session.app(arguments.app)
            _ = try await session.perform(AdminCall(.removeSecret, ["app": app, "secret": name]))
            Output.line("\(name) is removed from \(app)")
        }
    }
}

extension KeyRing.KeyUse {
    /// The key's name in the output.
    fileprivate var text: String {
        switch self {
        case .plain: "plain text"
        case .unnamed: "a former format"
        case .key(let id): id
        }
    }
}

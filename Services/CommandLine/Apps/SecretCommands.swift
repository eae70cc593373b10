import AppDefinition
import AppRegistry
import DocumentModel
import Foundation
import Secrets

/// `partita secret …`: the secrets that an app's providers and values refer to, and that no file of the app contains.
enum SecretCommands {
    static let set = Command(
        name: "secret set", summary: "Set a secret of an app; its value comes from standard input",
        parameters: ["NAME"], options: [Command.appOption, LocalConfiguration.option]
    ) { arguments in
        let name = try arguments.required("NAME")
        guard name.utf8.count <= 64, name.utf8.allSatisfy({ $0 > 0x20 && $0 < 0x7F }) else {
            throw UsageError("a secret's name has at most 64 characters of ASCII, and no spaces")
        }
        // Not an argument: other users of the machine see those.
        var bytes = try FileHandle.standardInput.readToEnd() ?? Data()
        if bytes.last == UInt8(ascii: "\n") { bytes.removeLast() }
        guard let value = String(data: bytes, encoding: .utf8), !value.isEmpty, !value.utf8.contains(0) else {
            throw ToolError("standard input isn't UTF-8 text, or is empty")
        }
        let configuration = try LocalConfiguration(arguments: arguments)
        try await Tool.run(configuration) { tool in
            let app = try await tool.app(arguments.app)
            // Otherwise the services have other keys, and would refuse to start because of secrets that they can't
            // decrypt.
            let uses = try await tool.registry.secretKeyUses().merging(
                try await signingKeyUses(tool), uniquingKeysWith: +)
            if let problem = configuration.keys.problem(with: uses) {
                throw ToolError("encryption.keys (PARTITA_ENCRYPTION_KEYS): \(problem)")
            }
            try await tool.registry.setSecret(name, of: app.id, to: value)
            Output.line("\(name) is set for \(app.id); services have it within seconds")
        }
    }

    static let list = Command(
        name: "secret list", summary: "Show an app's secrets: which are set, and which the app uses but aren't set",
        options: [Command.appOption, Output.option, LocalConfiguration.option]
    ) { arguments in
        try await Tool.run(try LocalConfiguration(arguments: arguments)) { tool in
            let app = try await tool.app(arguments.app)
            let known = try await tool.registry.secretNames(of: app.id)
            for name in known.union(app.definition.secretNames.map { ExactText($0) }).sortedTexts {
                let isSet = known.contains(name)
                Output.row(
                    ["name": .string(name), "isSet": .bool(isSet)], isJSON: arguments.has("json"),
                    "\(name)  \(isSet ? "set" : "not set")")
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
            try await tool.registry.resealSecrets()
            let secrets = try await tool.registry.secretKeyUses()
            let signing = try await signingKeyUses(tool)
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

    /// The keys with which auth's signing keys are encrypted; auth creates the table at its first start.
    private static func signingKeyUses(_ tool: Tool) async throws -> [KeyRing.KeyUse: Int] {
        guard
            try await tool.postgres.query("SELECT to_regclass('partita.auth_signing_keys') IS NOT NULL").decode(
                Bool.self
            )
            .first == true
        else { return [:] }
        let stored = try await tool.postgres.query("SELECT left(private_key, 40) FROM partita.auth_signing_keys")
            .decode(
                String.self)
        return Dictionary(stored.map { (KeyRing.KeyUse($0), 1) }, uniquingKeysWith: +)
    }

    static let remove = Command(
        name: "secret remove", summary: "Remove a secret of an app", parameters: ["NAME"],
        options: [Command.appOption, LocalConfiguration.option]
    ) { arguments in
        let name = try arguments.required("NAME")
        try await Tool.run(try LocalConfiguration(arguments: arguments)) { tool in
            let app = try await tool.app(arguments.app)
            guard try await tool.registry.secretNames(of: app.id).contains(name) else {
                throw ToolError("\(app.id) has no secret \(name)")
            }
            try await tool.registry.removeSecret(name, of: app.id)
            Output.line("\(name) is removed from \(app.id)")
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

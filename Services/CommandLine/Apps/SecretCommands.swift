import AppDefinition
import AppRegistry
import DocumentModel
import Foundation

/// `partita secret …`: what an app's providers and values name, and no file of the app holds.
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
            throw ToolError("standard input is no text, or empty")
        }
        try await Tool.run(try LocalConfiguration(arguments: arguments)) { tool in
            let app = try await tool.app(arguments.app)
            try await tool.registry.setSecret(name, of: app.id, to: value)
            Output.line("\(name) is set for \(app.id)")
        }
    }

    static let list = Command(
        name: "secret list", summary: "Show which secrets of an app are set, and which it names besides",
        options: [Command.appOption, Output.option, LocalConfiguration.option]
    ) { arguments in
        try await Tool.run(try LocalConfiguration(arguments: arguments)) { tool in
            let app = try await tool.app(arguments.app)
            let known = try await tool.registry.secrets(of: app.id)
            for name in Set(known.keys).union(app.definition.secretNames.map { ExactText($0) }).sortedTexts {
                let isSet = known[name] != nil
                Output.row(
                    ["name": .string(name), "isSet": .bool(isSet)], isJSON: arguments.has("json"),
                    "\(name)  \(isSet ? "set" : "not set")")
            }
        }
    }

    static let remove = Command(
        name: "secret remove", summary: "Remove a secret of an app", parameters: ["NAME"],
        options: [Command.appOption, LocalConfiguration.option]
    ) { arguments in
        let name = try arguments.required("NAME")
        try await Tool.run(try LocalConfiguration(arguments: arguments)) { tool in
            let app = try await tool.app(arguments.app)
            guard try await tool.registry.secrets(of: app.id)[name] != nil else {
                throw ToolError("\(app.id) has no secret \(name)")
            }
            try await tool.registry.removeSecret(name, of: app.id)
            Output.line("\(name) is removed from \(app.id)")
        }
    }
}

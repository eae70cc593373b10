import AppDefinition
import AppDeployment
import AppRegistry
import Archives
import DocumentModel

/// `partita app history|rollback|export`.
enum AppHistoryCommands {
    static let history = Command(
        name: "app history", summary: "Show the versions of an app that are kept, the newest first",
        parameters: ["APP?"], options: [Command.appOption, Output.option, LocalConfiguration.option]
    ) { arguments in
        try await Tool.run(try LocalConfiguration(arguments: arguments)) { tool in
            try await tool.registry.migrate()
            let id = try await tool.appId(arguments)
            let versions = try await tool.registry.history(of: id)
            guard !versions.isEmpty else { throw ToolError("no app \(id) was ever deployed") }
            for version in versions {
                Output.row(row(version), isJSON: arguments.has("json"), text(version))
            }
        }
    }

    private static func row(_ version: AppVersion) -> Document {
        var row: Document = [
            "version": .int64(version.number), "at": .date(version.deployedAt), "isCurrent": .bool(version.isCurrent),
            "bytes": .int64(version.bytes),
        ]
        row["digest"] = version.digest.map { .string($0) }
        row["by"] = version.by.map { .string($0) }
        row["message"] = version.message.map { .string($0) }
        row["restores"] = version.restores.map { .int64($0) }
        return row
    }

    private static func text(_ version: AppVersion) -> String {
        let parts: [String?] = [
            "\(version.number)".padded(to: 4) + (version.isCurrent ? " current" : "        "),
            ISODate.text(version.deployedAt),
            version.digest.map { String($0.prefix(12)) }, version.by,
            version.restores.map { "as version \($0)" }, version.message,
        ]
        return parts.compactMap(\.self).joined(separator: "  ")
    }

    static let rollback = Command(
        name: "app rollback",
        summary: "Deploy an earlier version of an app again, as a new version and through the same checks",
        parameters: ["APP?"],
        options: [
            Command.appOption,
            .init("to", value: "NUMBER", "the version (default: the one before the current one)"),
        ] + AppDeployCommand.deploymentOptions + [LocalConfiguration.option]
    ) { arguments in
        let number = try arguments.int("to", in: 1...Int.max).map(Int64.init)
        let options = try AppDeployCommand.options(of: arguments)
        let result = try await Tool.run(try LocalConfiguration(arguments: arguments)) { tool in
            try await tool.deployments.rollBack(try await tool.appId(arguments), to: number, options)
        }
        AppDeployCommand.show(result)
    }

    static let export = Command(
        name: "app export",
        summary:
            "Write an app's files as they were deployed: into a folder, an archive (.zip, .tar, .tar.gz), or as a tar archive to - (standard output)",
        parameters: ["APP", "PLACE"],
        options: [
            .init("version", value: "NUMBER", "the version (default: the current one)"), LocalConfiguration.option,
        ]
    ) { arguments in
        let (app, place) = (try arguments.required("APP"), try arguments.required("PLACE"))
        let number = try arguments.int("version", in: 1...Int.max).map(Int64.init)
        let export = try await Tool.run(try LocalConfiguration(arguments: arguments)) {
            try await $0.deployments.export(app, version: number)
        }
        if place == "-" {
            try Output.write(AppDeployments.archive(export, as: .tar))
        } else {
            try AppDeployments.write(export, to: place)
        }
        Progress.line("version \(export.app.version) of \(app): \(export.files.count) files")
        let choices = [("--app-id", export.choices.appId), ("--sync-by", export.choices.syncBy)]
            .compactMap { name, value in value.map { "\(name) \($0.text)" } }
        if !choices.isEmpty { Progress.line("it was deployed with \(choices.joined(separator: " "))") }
    }
}

extension Tool {
    /// The app that the parameter `APP` or `--app` names, or the only one that is deployed.
    func appId(_ arguments: Arguments) async throws -> String {
        guard let id = arguments.parameter("APP") ?? arguments.app else { return try await app(nil).id }
        return id
    }
}

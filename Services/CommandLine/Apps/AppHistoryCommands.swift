import AppDefinition
import AppDeployment
import Archives
import Auth
import DocumentModel

/// `partita app history|rollback|export`.
enum AppHistoryCommands {
    static let history = Command(
        name: "app history", summary: "Show the versions of an app that are kept, the newest first",
        parameters: ["APP?"], options: [Command.appOption, Output.option] + AdminSession.options
    ) { arguments in
        try await AdminSession.run(arguments) { session in
            let history = try await session.document(AdminCall(.history, ["app": try await session.app(arguments)]))
            for version in (history["versions"]?.arrayValue ?? []).compactMap(\.documentValue) {
                Output.row(version, isJSON: arguments.has("json"), text(version))
            }
        }
    }

    private static func text(_ version: Document) -> String {
        let parts: [String?] = [
            "\(version["version"]?.int64Value ?? 0)".padded(to: 4)
                + (version["isCurrent"] == true ? " current" : "        "),
            version["at"]?.dateValue.map(ISODate.text), version["digest"]?.stringValue.map { String($0.prefix(12)) },
            version["by"]?.stringValue, version["restores"]?.int64Value.map { "as version \($0)" },
            version["message"]?.stringValue,
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
        ] + AppDeployCommand.deploymentOptions + AdminSession.options
    ) { arguments in
        let number = try arguments.int("to", in: 1...Int.max).map(Int64.init)
        let options = try AppDeployCommand.options(of: arguments)
        let result = try await AdminSession.run(arguments) { session in
            try await session.rollBack(try await session.app(arguments), to: number, options)
        }
        AppDeployCommand.show(result)
    }

    static let export = Command(
        name: "app export",
        summary:
            "Write an app's files as they were deployed: into a folder, an archive (.zip, .tar, .tar.gz), or as a tar archive to - (standard output)",
        parameters: ["APP", "PLACE"],
        options: [.init("version", value: "NUMBER", "the version (default: the current one)")] + AdminSession.options
    ) { arguments in
        let (app, place) = (try arguments.required("APP"), try arguments.required("PLACE"))
        let other = [".7z", ".bz2", ".gz", ".rar", ".tbz", ".txz", ".xz", ".zst"]
        if ArchiveWriter.Format(ofFileNamed: place) == nil, other.contains(where: place.lowercased().hasSuffix) {
            throw UsageError("archives end in .zip, .tar, .tar.gz or .tgz: name another file than \(place)")
        }
        let number = try arguments.int("version", in: 1...Int.max).map(Int64.init)
        let answer = try await AdminSession.run(arguments) {
            try await $0.perform(AdminCall(.export, ["app": app], query: ["version": number.map { "\($0)" }]))
        }
        let (about, archive) = (answer.document ?? Document(), answer.archive ?? [])
        let export = AppDeployments.Export(
            version: about["version"]?.int64Value ?? 0, deployedAt: about["deployedAt"]?.dateValue ?? 0,
            files: try AppSource.originals(ofArchive: archive, named: "the exported archive"),
            choices: DeploymentChoices(appId: about["appId"]?.stringValue, syncBy: about["syncBy"]?.stringValue))
        if place == "-" { Output.write(archive) } else { try AppDeployments.write(export, to: place) }
        Progress.line("version \(export.version) of \(app): \(export.files.count) files")
        let choices = [("--app-id", export.choices.appId), ("--sync-by", export.choices.syncBy)]
            .compactMap { name, value in value.map { "\(name) \($0.text)" } }
        if !choices.isEmpty { Progress.line("it was deployed with \(choices.joined(separator: " "))") }
    }
}

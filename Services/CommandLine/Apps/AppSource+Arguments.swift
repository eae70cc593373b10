import AppDefinition
import AppDeployment
import DocumentModel
import Foundation

extension AppSource {
    /// The options of each command that reads an app.
    static let options = [
        Command.Option("app-id", value: "ID", "the app's id, in place of the one in its files"),
        Command.Option(
            "sync-by", value: "KEY",
            "for an app with flexible sync: sync in partitions by this field, where the permissions allow it"),
        Command.Option(
            "packages", value: "FOLDER",
            "a node_modules, from which packages are taken that the app's functions need and that it doesn't have"),
    ]

    /// - Parameter place: a path, or `-` for an archive on standard input.
    static func files(_ place: String, _ arguments: Arguments) throws -> AppFiles {
        let choices = DeploymentChoices(appId: arguments.value("app-id"), syncBy: arguments.value("sync-by"))
        var files: AppFiles
        if place.hasSameBytes(as: "-") {
            let name = "standard input"
            files = try Self.files(of: archive(from: .standardInput, named: name), named: name, choices: choices)
        } else {
            files = try Self.files(at: place, choices: choices)
        }
        if let folder = arguments.value("packages") {
            let names = try addPackages(from: folder, to: &files)
            Progress.line(
                names.isEmpty
                    ? "no package of \(folder) is needed" : "packages of \(folder): \(names.joined(separator: ", "))")
        }
        return files
    }
}

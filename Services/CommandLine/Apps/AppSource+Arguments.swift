import AppDefinition
import AppDeployment
import Foundation

extension AppSource {
    /// The options of each command that reads an app.
    static let options = [
        Command.Option("app-id", value: "ID", "the app's id, in place of the one in its files"),
        Command.Option(
            "sync-by", value: "KEY",
            "for an app with flexible sync: sync in partitions by this field, where the permissions allow it"),
    ]

    /// - Parameter place: a path, or `-` for an archive on standard input.
    static func files(_ place: String, _ arguments: Arguments) throws -> AppFiles {
        let choices = DeploymentChoices(appId: arguments.value("app-id"), syncBy: arguments.value("sync-by"))
        guard place == "-" else { return try files(at: place, choices: choices) }
        let name = "standard input"
        return try files(of: archive(from: .standardInput, named: name), named: name, choices: choices)
    }
}

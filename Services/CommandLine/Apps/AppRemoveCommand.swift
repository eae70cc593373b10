import Auth
import DocumentModel
import Foundation

/// `partita app remove APP`.
enum AppRemoveCommand {
    static let command = Command(
        name: "app remove",
        summary: "Stop serving an app. Its documents, users, secrets and history stay; it can be deployed again",
        parameters: ["APP"],
        options: [
            .init("documents", "delete its documents too, once no service runs the app"),
            .init("yes", "don't ask"),
            .init(
                "wait", value: "SECONDS",
                "how long to wait for a deployment of the app (default: 60), and for services to stop it (10)"),
        ] + AdminSession.options
    ) { arguments in
        let app = try arguments.required("APP")
        let deletesDocuments = arguments.has("documents")
        let seconds = try arguments.int("wait", in: 0...3600)
        try await AdminSession.run(arguments) { session in
            let about = try await session.document(AdminCall(.showApp, ["app": app]))
            let count = Int(about["documents"]?.int64Value ?? 0)
            if !arguments.has("yes") { try confirm(app, count, deletesDocuments: deletesDocuments) }
            let removal = try await session.remove(app, deletesDocuments: deletesDocuments, wait: seconds)
            for warning in removal.texts("warnings") { Progress.line(warning) }
            Output.line(
                deletesDocuments
                    ? "\(app) is removed, and \(removal["deletedDocuments"]?.int64Value ?? 0) documents are deleted; its users, secrets, history and media stay"
                    : "\(app) is removed; its \(count) documents, its users, secrets and history stay")
        }
    }

    /// Asks for the app's name: a `y` is typed too easily.
    private static func confirm(_ app: String, _ count: Int, deletesDocuments: Bool) throws {
        Progress.line(
            deletesDocuments
                ? "This stops \(app) for all devices and clients, and deletes its \(count) documents. There is no way back but a backup."
                : "This stops \(app) for all devices and clients. Its \(count) documents stay.")
        guard isatty(0) == 1 else {
            throw ToolError(
                "--yes is missing: without it, the app's name is asked for, and standard input is no terminal")
        }
        Progress.line("The app's name, to confirm:")
        guard readLine()?.trimmingCharacters(in: .whitespaces).hasSameBytes(as: app) == true else {
            throw ToolError("that isn't the app's name: nothing was changed")
        }
    }
}

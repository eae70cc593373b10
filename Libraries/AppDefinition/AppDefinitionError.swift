/// Why an app definition can't be read or used.
public struct AppDefinitionError: Error, Sendable, CustomStringConvertible {
    /// The kind of failure; raw values are stable.
    public enum Code: String, Sendable {
        /// The folder doesn't exist or can't be listed.
        case folderUnreadable = "folder-unreadable"
        /// The folder or archive has no file of an app.
        case appNotFound = "app-not-found"
        /// The definition has errors, so that it can't be deployed; `problems` has all of them.
        case invalid = "app-invalid"
        /// A stored document isn't an app definition.
        case storedFormUnknown = "stored-form-unknown"
    }

    public let code: Code
    public let message: String
    /// All problems that were found, warnings included.
    public let problems: [DefinitionProblem]

    init(code: Code, message: String) {
        self.code = code
        self.message = message
        problems = []
    }

    /// - Parameter problems: at least one error.
    public init(problems: [DefinitionProblem]) {
        let errors = problems.count { $0.severity == .error }
        code = .invalid
        message = "the app definition has \(errors) \(errors == 1 ? "error" : "errors")"
        self.problems = problems
    }

    public var description: String {
        ([message] + problems.map(\.description) + DefinitionProblem.remedies(problems).map { "what to do about \($0)" })
            .joined(separator: "\n")
    }
}

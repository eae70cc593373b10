/// A failure of a command, with a message for the user.
struct ToolError: Error, CustomStringConvertible {
    let description: String
    init(_ description: String) { self.description = description }
}

/// Ctrl-C or SIGTERM was received before the command was done.
struct Interrupted: Error {}

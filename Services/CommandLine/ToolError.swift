/// Something that kept the tool from doing what it was asked, in a sentence for the one who asked.
struct ToolError: Error, CustomStringConvertible {
    let description: String
    init(_ description: String) { self.description = description }
}

/// Ctrl-C or SIGTERM came before it was done.
struct Interrupted: Error {}

/// A command of the tool, with its name, parameters and options.
struct Command: Sendable {
    /// One or two words: `up`, `app deploy`.
    let name: String
    let summary: String
    /// The positional parameters, in order; one that ends in `?` is optional.
    var parameters: [String] = []
    var options: [Option] = []
    /// Hidden commands are started by the tool itself, and don't appear in the help.
    var isHidden = false
    let run: @Sendable (Arguments) async throws -> Void

    struct Option: Sendable {
        /// Without dashes: `data`.
        let name: String
        /// The value's name in the help; `nil` for a switch.
        var value: String?
        let summary: String
        /// Whether it may be given several times.
        var repeats = false

        init(_ name: String, value: String? = nil, repeats: Bool = false, _ summary: String) {
            self.name = name
            self.value = value
            self.repeats = repeats
            self.summary = summary
        }
    }

    /// `--app`, of every command that works on one app.
    static let appOption = Option("app", value: "ID", "the app; required when several are deployed")

    /// `partita app deploy DIRECTORY [--app ID]`.
    var usage: String {
        let parameters = parameters.map { $0.hasSuffix("?") ? "[\($0.dropLast())]" : $0 }
        let options = options.map { option in "[--\(option.name)\(option.value.map { " " + $0 } ?? "")]" }
        return (["partita", name] + parameters + options).joined(separator: " ")
    }
}

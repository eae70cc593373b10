/// One thing that the tool can do, with the words that call it.
struct Command: Sendable {
    /// One or two words: `up`, `app deploy`.
    let name: String
    let summary: String
    /// What stands behind the name, in order; one that ends in `?` may be left out.
    var parameters: [String] = []
    var options: [Option] = []
    /// Hidden commands are started by the tool itself.
    var isHidden = false
    let run: @Sendable (Arguments) async throws -> Void

    struct Option: Sendable {
        /// Without dashes: `data`.
        let name: String
        /// What the value is called in the help; `nil` for a switch.
        var value: String?
        let summary: String

        init(_ name: String, value: String? = nil, _ summary: String) {
            self.name = name
            self.value = value
            self.summary = summary
        }
    }

    /// `--app`, of every command that is about one app.
    static let appOption = Option("app", value: "ID", "the app; needed where several are deployed")

    /// `partita app deploy DIRECTORY [--app ID]`.
    var usage: String {
        let parameters = parameters.map { $0.hasSuffix("?") ? "[\($0.dropLast())]" : $0 }
        let options = options.map { option in "[--\(option.name)\(option.value.map { " " + $0 } ?? "")]" }
        return (["partita", name] + parameters + options).joined(separator: " ")
    }
}

enum Help {
    static func overview(_ commands: [Command]) -> String {
        let visible = commands.filter { !$0.isHidden }
        let width = visible.map(\.name.count).max() ?? 0
        let lines = visible.map { "  \($0.name.padded(to: width))  \($0.summary)" }
        return """
            partita: a self-hosted backend for offline-first apps

            usage: partita COMMAND [OPTION …]

            \(lines.joined(separator: "\n"))

            `partita COMMAND --help` says more.
            """
    }

    static func page(_ command: Command) -> String {
        let names = command.options.map { "--\($0.name)\($0.value.map { " " + $0 } ?? "")" }
        let width = names.map(\.count).max() ?? 0
        let lines = zip(names, command.options).map { "  \($0.padded(to: width))  \($1.summary)" }
        return ([command.summary, "", "usage: \(command.usage)"] + (lines.isEmpty ? [] : [""] + lines)).joined(
            separator: "\n")
    }

    /// The completions for a shell: `words` are the arguments so far, the last one unfinished.
    static func completions(_ commands: [Command], words: [String]) -> String {
        let last = words.last ?? ""
        if last.hasPrefix("--"),
            let command = commands.first(where: { words.joined(separator: " ").hasPrefix($0.name + " ") })
        {
            return command.options.map { "--" + $0.name }.filter { $0.hasPrefix(last) }.joined(separator: "\n")
        }
        return commands.filter { !$0.isHidden && $0.name.hasPrefix(words.joined(separator: " ")) }.map(\.name).joined(
            separator: "\n")
    }
}

extension String {
    func padded(to width: Int) -> String { self + String(repeating: " ", count: max(0, width - count)) }
}

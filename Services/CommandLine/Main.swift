import Glibc

@main
enum Main {
    /// Every command, in the order of the help.
    static let commands: [Command] = [
        UpCommand.command, DemoCommand.command, DeviceCommand.command, AppDeployCommand.command, AppListCommand.command,
        IndexCommands.list, IndexCommands.create, IndexCommands.drop, ImportDumpCommand.command,
        ExportDumpCommand.command, UsersCommand.command,
        PartitionShowCommand.command, TopicsTailCommand.command, LogsCommand.command,
        TriggersCommand.command, DocumentsFindCommand.command, DocumentsCountCommand.command,
        DocumentsInsertCommand.command, DocumentsUpdateCommand.command, DocumentsDeleteCommand.command,
        DocumentsAggregateCommand.command, DocumentsExplainCommand.command, DocumentsCallCommand.command,
        SetupCommand.command, EnginesCommand.command, BrokerCommand.command,
    ]

    static func main() async {
        let words = Array(CommandLine.arguments.dropFirst())
        do {
            try await run(words)
        } catch let error as UsageError {
            complain("\(error)")
            exit(64)  // EX_USAGE
        } catch {
            complain("\(error)")
            exit(1)
        }
    }

    private static func run(_ words: [String]) async throws {
        guard let first = words.first, !["help", "--help", "-h"].contains(first) else {
            return print(Help.overview(commands))
        }
        if first == "__complete" { return print(Help.completions(commands, words: Array(words.dropFirst()))) }
        guard let command = find(words) else {
            let names = commands.filter { !$0.isHidden }.map(\.name)
            throw UsageError(
                "no command \(first)\(Suggestion.text(for: first, among: names))\n`partita help` lists them")
        }
        let rest = Array(words.dropFirst(command.name.split(separator: " ").count))
        if rest.contains("--help") || rest.contains("-h") { return print(Help.page(command)) }
        try await command.run(Arguments(command, words: rest))
    }

    private static func find(_ words: [String]) -> Command? {
        let two = words.prefix(2).joined(separator: " ")
        return commands.first { $0.name == two } ?? commands.first { $0.name == words[0] }
    }

    private static func complain(_ message: String) {
        let text = "partita: \(message)\n"
        text.withCString { _ = write(2, $0, strlen($0)) }
    }
}

import Foundation
import Lifecycle

@main
enum Main {
    /// Every command, in the order of the help.
    static let commands: [Command] =
        [
            UpCommand.command, RunCommand.command, DemoCommand.command, ChaosCommand.command, BenchCommand.command,
            DeviceCommand.command, AppCheckCommand.command,
            AppDeployCommand.command, AppListCommand.command, AppHistoryCommands.history, AppHistoryCommands.rollback,
            AppHistoryCommands.export, AppDiffCommand.command, AppExplainCommand.command, AppRemoveCommand.command,
            SecretCommands.set, SecretCommands.list, SecretCommands.remove, SecretCommands.rotate,
            IndexCommands.list, IndexCommands.create, IndexCommands.drop, ImportDumpCommand.command,
            ExportDumpCommand.command, BackupCommand.command, RestoreCommand.command,
            UsersImportCommand.command,
        ] + UserCommands.all + APIKeyCommands.all + AdminTokenCommands.all + [
            AuditCommand.command,
            CheckCommand.command, PartitionShowCommand.command, PartitionAnewCommand.command, TopicsTailCommand.command,
            LogsCommand.command, TriggersCommand.command, TriggerPauseCommands.pause, TriggerPauseCommands.resume,
            DocumentsFindCommand.command, DocumentsCountCommand.command,
            DocumentsInsertCommand.command, DocumentsUpdateCommand.command, DocumentsDeleteCommand.command,
            DocumentsAggregateCommand.command, DocumentsExplainCommand.command, DocumentsCallCommand.command,
            SetupCommand.command, EnginesCommand.command, BrokerCommand.command, ChaosDeviceCommand.command,
        ]

    static func main() async {
        let words = Array(CommandLine.arguments.dropFirst())
        do {
            try await run(words)
            ProcessExit.now(0)
        } catch let error as UsageError {
            complain("\(error)")
            ProcessExit.now(64)  // EX_USAGE
        } catch is Interrupted {
            ProcessExit.now(130)
        } catch let error as CocoaError {
            complain("\(error.filePath.map { "\($0): " } ?? "")\(error.localizedDescription)")
            ProcessExit.now(1)
        } catch {
            complain(CallFailure.text(error))
            ProcessExit.now(1)
        }
    }

    private static func run(_ words: [String]) async throws {
        guard let first = words.first else { return Output.line(Help.overview(commands)) }
        if ["help", "--help", "-h"].contains(first) {
            guard words.count > 1, !words[1].hasPrefix("-") else { return Output.line(Help.overview(commands)) }
            let asked = Array(words.dropFirst())
            guard let command = find(asked) else { throw unknown(asked) }
            return Output.line(Help.page(command))
        }
        if first == "__complete" { return Output.line(Help.completions(commands, words: Array(words.dropFirst()))) }
        guard let command = find(words) else {
            let group = members(of: first)
            guard words.count == 2, ["--help", "-h"].contains(words[1]), !group.isEmpty else { throw unknown(words) }
            return Output.line(Help.overview(group))
        }
        let rest = Array(words.dropFirst(command.name.split(separator: " ").count))
        if rest.contains("--help") || rest.contains("-h") { return Output.line(Help.page(command)) }
        try await command.run(Arguments(command, words: rest))
    }

    private static func unknown(_ words: [String]) -> UsageError {
        let names = commands.filter { !$0.isHidden }.map(\.name)
        let longer = members(of: words[0]).map(\.name)
        guard longer.isEmpty else { return UsageError("there are: \(longer.joined(separator: ", "))") }
        return UsageError(
            "no command \(words[0])\(Suggestion.text(for: words[0], among: names))\n`partita help` lists them")
    }

    /// The commands whose names begin with a word, such as those of `app`.
    private static func members(of group: String) -> [Command] {
        commands.filter { !$0.isHidden && $0.name.hasPrefix(group + " ") }
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

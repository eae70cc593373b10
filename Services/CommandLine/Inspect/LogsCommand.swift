import DocumentModel
import Postgres

/// `partita logs`.
enum LogsCommand {
    static let command = Command(
        name: "logs", summary: "Show the console output of functions, and their failures",
        options: [
            Command.appOption,
            .init("last", value: "COUNT", "how many lines (default: 50)"),
            Output.option, LocalConfiguration.option,
        ]
    ) { arguments in
        let count = try arguments.int("last", in: 1...100_000) ?? 50
        try await Tool.run(try LocalConfiguration(arguments: arguments)) { tool in
            let app = try await tool.app(arguments.app).id
            let rows = try await tool.postgres.query(
                """
                select to_char(at at time zone 'utc', 'YYYY-MM-DD HH24:MI:SS.MS'), level,
                    function || coalesce(':' || line, ''), coalesce(trigger, ''), message
                from (select * from partita.function_logs where app = $1 order by at desc limit $2) l order by at
                """, [.text(app), .int(Int64(count))])
            for (at, level, function, trigger, message) in try rows.decode(
                (String, String, String, String, String).self)
            {
                Output.row(
                    [
                        "at": .string(at), "level": .string(level), "function": .string(function),
                        "trigger": trigger.isEmpty ? .null : .string(trigger), "message": .string(message),
                    ], isJSON: arguments.has("json"),
                    "\(at)  \(level.padded(to: 5))  \(function)\(trigger.isEmpty ? "" : " (\(trigger))")  \(message)")
            }
        }
    }
}

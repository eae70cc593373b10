import ChildProcesses
import Foundation
import LocalEngines
import Postgres
import ServiceEngines

/// Runs `pg_dump`, `pg_restore` and `psql` on the database of a URL. A password is passed in the environment, where other users of
/// the machine can't see it.
struct PostgresDump: Sendable {
    private let url: String
    private let environment: [String: String]

    init(_ configuration: LocalConfiguration) throws {
        let settings = try EngineSettings.postgres(try configuration.engines(), as: "partita")
        var environment = CurrentEnvironment.variables
        var url = settings.url
        if let password = settings.password, !password.isEmpty { environment["PGPASSWORD"] = password }
        if var parts = URLComponents(string: url), let password = parts.password {
            environment["PGPASSWORD"] = password
            parts.password = nil
            url = parts.string ?? url
        }
        environment["PGOPTIONS"] = "-c statement_timeout=0 -c lock_timeout=0 -c client_min_messages=warning"
        self.url = url
        self.environment = environment
    }

    /// Dumps schemas in the snapshot of another session.
    /// - Parameter snapshot: the name that `pg_export_snapshot` returned; its transaction has to be open.
    func dump(_ schemas: [String], snapshot: String, to file: String) async throws {
        let names = schemas.flatMap { ["-n", "\"" + $0.replacing("\"", with: "\"\"") + "\""] }
        let program = try PostgresPrograms.directory(of: "pg_dump") + "/pg_dump"
        try await run(
            program, ["-Fc", "--no-owner", "--no-acl", "--snapshot", snapshot, "-f", file, "-d", url] + names)
    }

    /// Runs `before`, the dump's SQL, and `after` in one transaction: if anything fails, nothing has changed.
    func restore(_ file: String, before: String, after: String) async throws {
        var environment = environment
        environment["PARTITA_BEFORE"] = before
        environment["PARTITA_AFTER"] = after
        let programs = try PostgresPrograms.directory(of: "pg_restore")
        // An incomplete dump must not be committed: the script then continues with invalid SQL.
        let script = """
            { printf '%s\\n' "$PARTITA_BEFORE"
              "$1/pg_restore" --no-owner --no-acl -f - "$2" || printf '\\n;the dump could not be read;\\n'
              printf '%s\\n' "$PARTITA_AFTER"
            } | "$1/psql" -X -q -o /dev/null -v ON_ERROR_STOP=1 --single-transaction -d "$3" -f -
            """
        try await run("/bin/sh", ["-c", script, "sh", programs, file, url], environment)
    }

    private func run(_ program: String, _ arguments: [String], _ environment: [String: String]? = nil) async throws {
        let run = try await CapturedRun.run(program, arguments, environment: environment ?? self.environment)
        guard run.status.isSuccess else {
            let name =
                (program as NSString).lastPathComponent == "sh" ? "psql" : (program as NSString).lastPathComponent
            let lines = run.output.split(separator: "\n")
            let reason =
                lines.first { $0.contains("ERROR") || $0.contains("error:") } ?? lines.last ?? "no message"
            throw ToolError("\(name) failed (\(run.status)): \(reason)")
        }
    }
}

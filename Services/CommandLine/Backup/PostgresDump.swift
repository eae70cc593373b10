import ChildProcesses
import Foundation
import LocalEngines
import Postgres
import ServiceEngines

/// Runs `pg_dump`, `pg_restore` and `psql` on the database of a URL. A password is passed in the environment, and other secrets in a
/// file, where other users of the machine can't see them.
struct PostgresDump: Sendable {
    /// The database's connection parameters.
    private let database: String
    private let environment: [String: String]
    /// Those that no variable passes.
    private let secrets: [String: String]
    /// Whether the URL names a connection service.
    private let isService: Bool

    init(_ configuration: LocalConfiguration) throws {
        let settings = try EngineSettings.postgres(try configuration.engines(), as: "partita")
        var environment = CurrentEnvironment.variables
        var (parameters, secrets) = try PostgresConfiguration.programParameters(ofURL: settings.url)
        if let password = secrets.removeValue(forKey: "password") ?? settings.password, !password.isEmpty {
            environment["PGPASSWORD"] = password
        }
        environment["PGOPTIONS"] = "-c statement_timeout=0 -c lock_timeout=0 -c client_min_messages=warning"
        database = parameters
        self.secrets = secrets
        isService = parameters.split(separator: " ").contains { $0.hasPrefix("service='") }
        self.environment = environment
    }

    /// Dumps schemas in the snapshot of another session.
    /// - Parameters:
    ///   - snapshot: the name that `pg_export_snapshot` returned; its transaction has to be open.
    ///   - server: the server's major version.
    /// - Returns: the major version of `pg_dump`.
    func dump(_ schemas: [String], snapshot: String, server: Int, to file: String) async throws -> Int {
        let names = schemas.flatMap { ["-n", "\"" + $0.replacing("\"", with: "\"\"") + "\""] }
        let program = try PostgresPrograms.directory(of: "pg_dump", preferring: server) + "/pg_dump"
        try await run(
            program, ["-Fc", "--no-owner", "--no-acl", "--snapshot", snapshot, "-f", file, "-d", database] + names)
        return try await PostgresPrograms.majorVersion(of: program)
    }

    /// Runs `before`, the dump's SQL, and `after` in one transaction: if anything fails, nothing has changed.
    /// - Parameters:
    ///   - maker: the major version of the `pg_dump` that made the dump, which an older `pg_restore` can't read; `nil` if it isn't known.
    ///   - server: the server's major version.
    ///   - committing: called before the transaction may be committed.
    func restore(
        _ file: String, of maker: Int?, on server: Int, before: String, after: String,
        committing: @escaping @Sendable () -> Void
    ) async throws {
        let programs = try PostgresPrograms.directory(of: "pg_restore", preferring: maker.map { max($0, server) })
        let version = try await PostgresPrograms.majorVersion(of: programs + "/pg_restore")
        try await ServiceFile.with(secrets, environment, isService: isService) { environment in
            let restore = PostgresRestore(
                programs: programs, hasUnknownSetting: PostgresScript.hasUnknownSetting(version, for: server),
                database: database, environment: environment)
            try await restore.run(file, before: before, after: after, committing: committing)
        }
    }

    /// The server's major version.
    static func server(_ connection: some PostgresQuerying) async throws -> Int {
        try await connection.query("select current_setting('server_version_num')::int / 10000").only.decode(0)
    }

    private func run(_ program: String, _ arguments: [String]) async throws {
        let run = try await ServiceFile.with(secrets, environment, isService: isService) {
            try await CapturedRun.run(program, arguments, environment: $0)
        }
        guard run.status.isSuccess else {
            throw Self.failure((program as NSString).lastPathComponent, run.status, output: run.output)
        }
    }

    static func failure(_ name: String, _ status: ChildProcess.ExitStatus, log: String) -> ToolError {
        let text = FileManager.default.contents(atPath: log) ?? Data()
        return failure(name, status, output: String(decoding: text, as: UTF8.self))
    }

    /// An error with the line that says what failed.
    private static func failure(_ name: String, _ status: ChildProcess.ExitStatus, output: String) -> ToolError {
        let lines = output.split(separator: "\n")
        let reason = lines.first { $0.contains("ERROR") || $0.contains("error:") } ?? lines.last ?? "no message"
        return ToolError("\(name) failed (\(status)): \(reason)")
    }
}

import ChildProcesses
import Foundation
import Glibc

/// An empty database in the Postgres of a running system, into which a backup of the system can be restored meanwhile.
struct RestoreTarget: Sendable {
    let name: String
    /// With passwords, for which the server doesn't ask.
    let url: String
    /// For the tool: the database, and topics and media of its own.
    let environment: [String: String]
    /// Where its media are.
    let media: String
    private let server: String

    init(_ name: String, beside system: RunningSystem) async throws {
        let database = "\(name)_\(getpid())"
        self.name = database
        server = try system.setting("postgres.url")
        let made = try await CapturedRun.run("psql", [server, "-q", "-c", "create database \(database)"])
        guard made.status.isSuccess else { throw SystemFailure(description: made.output) }
        url = server.replacing(/\/[^\/]*$/, with: "/\(database)?password=\(Self.password)&sslpassword=\(Self.password)")
        media = "\(system.directory)/\(database)"
        environment = SystemBackup.environment(system).merging([
            "PARTITA_POSTGRES_URL": url, "PARTITA_KAFKA_BOOTSTRAP": try system.setting("kafka.bootstrap"),
            "PARTITA_KAFKA_EMBEDDED": try system.setting("kafka.embedded"), "PARTITA_KAFKA_POOL": database,
            "PARTITA_MEDIA_DIRECTORY": media,
        ]) { $1 }
    }

    /// Nobody may see it among the arguments of a program.
    static let password = "not-to-be-seen"

    /// Runs the tool on the database.
    func tool(_ words: [String]) async throws -> CapturedRun {
        try await CapturedRun.run(CurrentEnvironment.sibling("partita"), words, environment: environment)
    }

    /// What `psql` prints of a query.
    func query(_ sql: String) async throws -> String {
        let run = try await CapturedRun.run("psql", [url, "-Atqc", sql])
        guard run.status.isSuccess else { throw SystemFailure(description: run.output) }
        return run.output.trimmingCharacters(in: .whitespacesAndNewlines)
    }

    func drop() async throws {
        let run = try await CapturedRun.run("psql", [server, "-q", "-c", "drop database \(name) with (force)"])
        guard run.status.isSuccess else { throw SystemFailure(description: run.output) }
    }

    /// Makes a backup of the system.
    static func backup(_ name: String, of system: RunningSystem) async throws -> String {
        let directory = "\(system.directory)/backups/\(name)"
        let run = try await CapturedRun.run(
            CurrentEnvironment.sibling("partita"), ["backup", directory], environment: SystemBackup.environment(system))
        guard run.status.isSuccess else { throw SystemFailure(description: run.output) }
        return directory
    }
}

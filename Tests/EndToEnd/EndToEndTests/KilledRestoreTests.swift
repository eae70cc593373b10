import ChildProcesses
import Foundation
import Glibc
import Postgres
import TestSupport
import Testing

extension EndToEnd {
    /// A restore into a database of its own, beside the running system that the backup is of.
    struct KilledRestoreTests {
        @Test func `a restore that is killed changes nothing, and a second one is refused meanwhile`() async throws {
            let system = try await RunningSystem.shared()
            let database = "killed_restore_\(getpid())"
            let own = try system.setting("postgres.url")
            let empty = try await CapturedRun.run("psql", [own, "-q", "-c", "create database \(database)"])
            guard empty.status.isSuccess else { throw SystemFailure(description: empty.output) }
            let url = own.replacing(/\/[^\/]*$/, with: "/" + database)
            let backup = "\(system.directory)/backups/killed"
            let environment = SystemBackup.environment(system).merging([
                "PARTITA_POSTGRES_URL": url, "PARTITA_KAFKA_BOOTSTRAP": try system.setting("kafka.bootstrap"),
                "PARTITA_KAFKA_EMBEDDED": try system.setting("kafka.embedded"), "PARTITA_KAFKA_POOL": database,
                "PARTITA_MEDIA_DIRECTORY": "\(system.directory)/killed-media",
            ]) { $1 }
            let tool = CurrentEnvironment.sibling("partita")
            let made = try await CapturedRun.run(
                tool, ["backup", backup], environment: SystemBackup.environment(system))
            #expect(made.status == .exited(0), "\(made.output)")

            // The restore waits for this lock when it drops the schema.
            let other = PostgresConnection(
                configuration: PostgresConfiguration(url: url), on: RunningSystem.loops.next())
            try await other.connect()
            for statement in [
                "create schema partita", "create table partita.kept (n int)", "begin", "lock table partita.kept",
            ] { _ = try await other.query(statement) }
            let log = "\(system.directory)/killed-restore.log"
            let restore = try ChildProcess.spawn(
                tool, ["restore", backup], environment: environment, output: .file(log))
            try await eventually("the restore waits for the lock", within: patience) {
                if let status = restore.exitStatus {
                    throw SystemFailure(description: "\(status): \(try String(contentsOfFile: log, encoding: .utf8))")
                }
                return try await system.query(
                    "select from pg_stat_activity where datname = '\(database)' and wait_event_type = 'Lock'"
                ).count == 1
            }
            let second = try await CapturedRun.run(tool, ["restore", backup], environment: environment)
            #expect(second.status == .exited(1))
            #expect(second.output.contains("another restore of this database is running"), "\(second.output)")

            restore.signal(SIGKILL)
            #expect(await restore.wait() == .signaled(SIGKILL))
            try await eventually("psql and pg_restore end with the tool", within: patience) {
                Self.commandLines().allSatisfy { !$0.contains(database) && !$0.contains(backup) }
            }
            _ = try await other.query("rollback")
            // What had the lock's turn ends when it finds that nobody reads its answer.
            try await eventually("the sessions end", within: patience) {
                try await system.query(
                    """
                    select from pg_stat_activity where datname = '\(database)' and backend_type = 'client backend'
                        and application_name in ('psql', 'pg_restore')
                    """
                ).isEmpty
            }
            let kept = try await other.query(
                "select to_regclass('partita.kept') is not null and to_regclass('partita.epochs') is null")
            #expect(try kept.first?.decode(0) == true)
            await other.close()
            _ = try await CapturedRun.run("psql", [own, "-q", "-c", "drop database \(database) with (force)"])
        }

        /// The words of every process.
        private static func commandLines() -> [String] {
            let entries = (try? FileManager.default.contentsOfDirectory(atPath: "/proc")) ?? []
            return entries.filter { Int($0) != nil }.compactMap {
                FileManager.default.contents(atPath: "/proc/\($0)/cmdline")
            }
            .map { String(decoding: $0, as: UTF8.self) }
        }
    }
}

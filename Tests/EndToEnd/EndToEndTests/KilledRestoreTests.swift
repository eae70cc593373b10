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
            let target = try await RestoreTarget("killed_restore", beside: system), database = target.name
            let backup = try await RestoreTarget.backup("killed", of: system)

            // The restore waits for this lock when it drops the schema.
            let other = PostgresConnection(
                configuration: PostgresConfiguration(url: target.url), on: RunningSystem.loops.next())
            try await other.connect()
            for statement in [
                "create schema partita", "create table partita.kept (n int)", "begin", "lock table partita.kept",
            ] { _ = try await other.query(statement) }
            let log = "\(system.directory)/killed-restore.log"
            let restore = try ChildProcess.spawn(
                CurrentEnvironment.sibling("partita"), ["restore", backup], environment: target.environment,
                output: .file(log))
            try await eventually("the restore waits for the lock", within: patience) {
                if let status = restore.exitStatus {
                    throw SystemFailure(description: "\(status): \(try String(contentsOfFile: log, encoding: .utf8))")
                }
                return try await system.query(
                    "select from pg_stat_activity where datname = '\(database)' and wait_event_type = 'Lock'"
                ).count == 1
            }
            let seen = Self.commandLines().filter { $0.contains(database) }
            #expect(!seen.isEmpty && seen.allSatisfy { !$0.contains(RestoreTarget.password) }, "\(seen)")
            let second = try await target.tool(["restore", backup])
            #expect(second.status == .exited(1))
            #expect(second.output.contains("another restore of this database is running"), "\(second.output)")

            let folder = "\(system.directory)/backups/meanwhile"
            let saved = try await target.tool(["backup", folder])
            #expect(saved.status == .exited(1))
            #expect(saved.output.contains("RestoreRunning: this database is being restored"), "\(saved.output)")
            #expect(saved.output.contains("Wait until it has ended"), "\(saved.output)")
            #expect(!FileManager.default.fileExists(atPath: folder + ".partial"))

            restore.signal(SIGKILL)
            #expect(await restore.wait() == .signaled(SIGKILL))
            try await eventually("psql and pg_restore end with the tool", within: patience) {
                Self.commandLines().allSatisfy { !$0.contains(database) && !$0.contains(backup) }
            }
            let late = "\(system.directory)/interrupted-restore.log"
            let interrupted = try ChildProcess.spawn(
                CurrentEnvironment.sibling("partita"), ["restore", backup], environment: target.environment,
                output: .file(late))
            try await eventually("it restores", within: patience) {
                try String(contentsOfFile: late, encoding: .utf8).contains("copying media")
            }
            interrupted.signal(SIGTERM)
            #expect(await interrupted.wait() == .exited(130))
            let said = try String(contentsOfFile: late, encoding: .utf8)
            #expect(said.contains("interrupted by SIGTERM: nothing has changed in the database"), "\(said)")
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
            let empty = try await target.tool(["backup", folder])
            #expect(empty.status == .exited(1))
            #expect(empty.output.contains("NoSystem: the database has nothing of Partita"), "\(empty.output)")

            // As a backup holds it.
            _ = try await other.query("set application_name = 'backup by ada@example.com'")
            _ = try await other.query("select pg_advisory_lock_shared(hashtextextended('partita.restore', 0))")
            let early = try await target.tool(["restore", backup])
            #expect(early.status == .exited(1))
            #expect(early.output.contains("BackupRunning: "), "\(early.output)")
            #expect(early.output.contains("there is a backup by ada@example.com"), "\(early.output)")
            let kept = try await other.query(
                "select to_regclass('partita.kept') is not null and to_regclass('partita.epochs') is null")
            #expect(try kept.first?.decode(0) == true)
            await other.close()
            try await target.drop()
        }

        /// The words of every `psql` and `pg_restore`. (Those of Postgres' own processes have the database's name, too.)
        private static func commandLines() -> [String] {
            let entries = (try? FileManager.default.contentsOfDirectory(atPath: "/proc")) ?? []
            return entries.filter { Int($0) != nil }.compactMap { entry in
                guard let words = FileManager.default.contents(atPath: "/proc/\(entry)/cmdline"),
                    let program = words.split(separator: 0).first.map({ String(decoding: $0, as: UTF8.self) }),
                    program.hasSuffix("/psql") || program.hasSuffix("/pg_restore")
                else { return nil }
                return String(decoding: words, as: UTF8.self)
            }
        }
    }
}

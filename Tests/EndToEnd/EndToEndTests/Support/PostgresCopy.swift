import ChildProcesses
import Foundation
import Glibc
import LocalEngines
import TestSupport

/// A copy of a running system's Postgres, which later takes the place of the original.
struct PostgresCopy: Sendable {
    private let system: RunningSystem
    /// The directory of the copy's server.
    private let root: String
    private var data: String { "\(root)/postgres/data" }

    /// Copies the server as it is now.
    /// - Parameter isStandby: whether the copy can be started as a standby; otherwise it is what a snapshot of the data directory has.
    static func make(of system: RunningSystem, name: String, isStandby: Bool) async throws -> PostgresCopy {
        let copy = PostgresCopy(system: system, root: "\(system.directory)/\(name)")
        try FileManager.default.createDirectory(atPath: "\(copy.root)/postgres", withIntermediateDirectories: true)
        let owner = try copy.owner
        for path in [copy.root, "\(copy.root)/postgres"] { chown(path, owner.user, owner.group) }
        let port = PostgresCopy.port(ofURL: try system.setting("postgres.url"))
        let run = try await CapturedRun.run(
            try PostgresPrograms.directory(of: "initdb") + "/pg_basebackup",
            ["-h", "127.0.0.1", "-p", port, "-U", "partita", "-D", copy.data, "-c", "fast", "-X", "stream"]
                + (isStandby ? ["-R"] : []),
            workingDirectory: copy.root, account: geteuid() == 0 ? owner : nil)
        guard run.status.isSuccess else { throw SystemFailure(description: "pg_basebackup: \(run.output)") }
        return copy
    }

    /// Starts the copy as a standby, runs `body` while it receives what the original commits, and then cuts it off, runs `lagging`,
    /// and promotes it.
    func promote(
        replicating body: () async throws -> Void, lagging: () async throws -> Void
    ) async throws {
        let engine = PostgresEngine(root: root, port: try LocalPort.free(1), isDurable: false)
        try await engine.start()
        func query(_ sql: String) async throws -> String {
            let run = try await CapturedRun.run(
                try PostgresPrograms.directory(of: "psql") + "/psql", ["-At", engine.url, "-c", sql])
            guard run.status.isSuccess else { throw SystemFailure(description: "\(sql): \(run.output)") }
            return run.output.trimmingCharacters(in: .whitespacesAndNewlines)
        }
        try await body()
        let position = try await system.query("select pg_current_wal_lsn()::text").decode(String.self).joined()
        try await eventually("the standby has all of it", within: .seconds(20)) {
            try await query("select pg_last_wal_replay_lsn() >= '\(position)'") == "t"
        }
        _ = try await query("alter system set primary_conninfo = ''")
        _ = try await query("select pg_reload_conf()")
        try await eventually("the standby receives nothing more", within: .seconds(20)) {
            try await query("select count(*) from pg_stat_wal_receiver") == "0"
        }
        try await lagging()
        _ = try await query("select pg_promote()")
        await engine.stop()
    }

    /// Kills the original with its whole data directory, and puts the copy in its place; `up` starts it there.
    func takeOver() async throws {
        let former = try system.pid(of: "postgres")
        try replace()
        try system.kill("postgres")
        try await eventually("the copy runs", within: .seconds(60)) {
            guard try system.pid(of: "postgres") != former else { return false }
            return (try? await system.query("select 1")) != nil
        }
    }

    /// Puts the copy in the original's place.
    func replace() throws {
        let original = "\(system.directory)/engines/postgres/data"
        try FileManager.default.moveItem(atPath: original, toPath: "\(root)/lost")
        try FileManager.default.moveItem(atPath: data, toPath: original)
    }

    /// The account that the original runs as.
    private var owner: ChildProcess.Account {
        get throws {
            var status = stat()
            guard stat("\(system.directory)/engines/postgres/data", &status) == 0 else {
                throw SystemFailure(description: "the system has no Postgres of its own")
            }
            return .init(user: status.st_uid, group: status.st_gid)
        }
    }

    private static func port(ofURL url: String) -> String { "\(URL(string: url)?.port ?? 0)" }
}

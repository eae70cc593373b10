import ChildProcesses
import Foundation
import Glibc

/// A copy of a private Postgres server that runs, which can take the place of the server's data directory. The server's last commits are
/// lost then, as by a snapshot of the disk that is put back, or by a failover to a standby that lagged behind.
public struct PostgresCopy: Sendable {
    private let url: String
    /// The server's directory.
    private let original: EngineDirectory
    /// The copy's directory.
    private let copy: EngineDirectory
    private let root: String

    /// Copies the server as it is now.
    /// - Parameters:
    ///   - engines: the directory that holds the directory of the server, and maybe of other engines.
    ///   - url: the server's, as of `PostgresEngine`.
    ///   - root: where to put the copy; it must not exist.
    ///   - isStandby: whether the copy can be started as a standby; otherwise it is what a snapshot of the data directory has.
    public init(of engines: String, url: String, in root: String, isStandby: Bool) async throws(EngineError) {
        self.url = url
        self.root = root
        original = EngineDirectory(engine: "postgres", root: engines)
        copy = EngineDirectory(engine: "postgres", root: root)
        try copy.create()
        try await copy.run(
            try PostgresPrograms.directory(of: "initdb") + "/pg_basebackup",
            ["-d", url, "-D", copy.path + "/data", "-c", "fast", "-X", "stream"] + (isStandby ? ["-R"] : []))
    }

    /// Starts the copy as a standby, runs `body` while it receives what the server commits, and then cuts it off, runs `lagging`, and promotes
    /// it.
    public func promote(
        replicating body: () async throws -> Void, lagging: () async throws -> Void
    ) async throws {
        let standby = PostgresEngine(root: root, port: try LocalPort.free(), isDurable: false)
        try await standby.start()
        do {
            try await body()
            let position = try await query("select pg_current_wal_lsn()", at: url)
            try await wait(
                for: "the standby has all of it", "select pg_last_wal_replay_lsn() >= '\(position)'", at: standby.url)
            _ = try await query("alter system set primary_conninfo = ''", at: standby.url)
            _ = try await query("select pg_reload_conf()", at: standby.url)
            try await wait(
                for: "the standby receives nothing more", "select count(*) = 0 from pg_stat_wal_receiver",
                at: standby.url)
            try await lagging()
            _ = try await query("select pg_promote()", at: standby.url)
        } catch {
            await standby.stop()
            throw error
        }
        await standby.stop()
    }

    /// Puts the copy in the place of the server's data directory. The server has to be killed then, and started again.
    public func replace() throws(EngineError) {
        for (from, to) in [(original.path + "/data", root + "/lost"), (copy.path + "/data", original.path + "/data")] {
            guard rename(from, to) == 0 else {
                throw EngineError(
                    engine: copy.engine, message: "can't rename \(from) to \(to): \(String(cString: strerror(errno)))")
            }
        }
    }

    private func wait(for what: String, _ condition: String, at url: String) async throws {
        let end = ContinuousClock.now + .seconds(20)
        while try await query(condition, at: url) != "t" {
            guard ContinuousClock.now < end else {
                throw EngineError(engine: copy.engine, message: "not within 20 s: \(what)")
            }
            try await Task.sleep(for: .milliseconds(100))  // a server that is asked by psql can't tell when
        }
    }

    private func query(_ sql: String, at url: String) async throws -> String {
        let run = try await CapturedRun.run(
            try PostgresPrograms.directory(of: "psql") + "/psql", [url, "-Atc", sql])
        guard run.status.isSuccess else { throw EngineError(engine: copy.engine, message: "\(sql): \(run.output)") }
        return run.output.trimmingCharacters(in: .whitespacesAndNewlines)
    }
}

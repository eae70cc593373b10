import ChildProcesses
import EventLoop
import Foundation
import LocalEngines

/// Restores a dump in one transaction of `psql`, which reads the SQL that `pg_restore` makes of the dump.
///
/// Both are children of this process, so that both are killed when it ends, however it does. The SQL passes through this process, which
/// ends it with `commit` only when all of the dump was read: whatever ends before, nothing has changed.
struct PostgresRestore: Sendable {
    /// The directory of `pg_restore` and `psql`.
    let programs: String
    /// Whether its SQL sets something that the server doesn't know.
    let hasUnknownSetting: Bool
    /// The database's connection parameters.
    let database: String
    let environment: [String: String]

    /// Runs `before`, the dump's SQL, and `after`.
    /// - Throws: `ToolError` with the message of the program that failed; nothing has changed then.
    func run(
        _ file: String, before: String, after: String, committing: @escaping @Sendable () -> Void
    ) async throws {
        // Messages of Postgres may quote data.
        let logs = FileManager.default.temporaryDirectory.appendingPathComponent("restore-\(UUID().uuidString)").path
        try FileManager.default.createDirectory(
            atPath: logs, withIntermediateDirectories: false, attributes: [.posixPermissions: 0o700])
        defer { try? FileManager.default.removeItem(atPath: logs) }  // nothing depends on the removal
        let script = try BytePipe(), dump = try BytePipe()
        // No --single-transaction: with it, psql commits what it has got when the pipe ends.
        let psql = try ChildProcess.spawn(
            programs + "/psql",
            ["-X", "-q", "-o", "/dev/null", "-v", "ON_ERROR_STOP=1", "-d", database, "-f", "/dev/fd/3"],
            environment: environment, output: .file(logs + "/psql"), descriptors: [script.reading])
        script.closeReading()
        let reader: ChildProcess
        do {
            reader = try ChildProcess.spawn(
                programs + "/pg_restore", ["--no-owner", "--no-acl", "-f", "/dev/fd/3", file],
                environment: environment, output: .file(logs + "/pg_restore"), descriptors: [dump.writing])
        } catch {
            script.closeWriting()
            _ = await psql.wait()
            throw error
        }
        dump.closeWriting()
        let isCopied = await Self.blocking {
            let isCopied =
                script.write("begin;\n\(before)\n") && (!hasUnknownSetting || Self.copyBeginning(dump, to: script))
                && Self.copy(dump, to: script)
            dump.closeReading()  // if psql has ended, so does the reader
            return isCopied
        }
        let read = await reader.wait()
        let isWhole = isCopied && read.isSuccess
        if isWhole { committing() }
        let isTaken = isWhole ? await Self.blocking { script.write("\n\(after)\ncommit;\n") } : false
        script.closeWriting()
        let written = await psql.wait()
        // Whichever failed first: psql fails in the middle of a table if the reader does, and the reader can't write if psql has failed.
        if isCopied, !read.isSuccess { throw PostgresDump.failure("pg_restore", read, log: logs + "/pg_restore") }
        if !written.isSuccess { throw PostgresDump.failure("psql", written, log: logs + "/psql") }
        guard isTaken else { throw ToolError("psql ended before the dump did: nothing has changed") }
    }

    /// Copies the beginning without the setting that the server doesn't know.
    private static func copyBeginning(_ from: BytePipe, to target: BytePipe) -> Bool {
        var beginning: [UInt8] = []
        while beginning.count < PostgresScript.beginning {
            var piece = [UInt8](repeating: 0, count: PostgresScript.beginning)
            guard let count = piece.withUnsafeMutableBytes({ from.read(into: $0) }) else { return false }
            if count == 0 { break }
            beginning += piece[..<count]
        }
        PostgresScript.removeUnknownSetting(from: &beginning)
        return beginning.withUnsafeBytes { target.write($0) }
    }

    private static func copy(_ from: BytePipe, to target: BytePipe) -> Bool {
        withUnsafeTemporaryAllocation(byteCount: 1 << 16, alignment: 16) { buffer in
            while let count = from.read(into: buffer) {
                if count == 0 { return true }
                guard target.write(UnsafeRawBufferPointer(rebasing: buffer[..<count])) else { return false }
            }
            return false
        }
    }

    /// On a thread of its own, since pipes block.
    private static func blocking(_ body: @escaping @Sendable () -> Bool) async -> Bool {
        await withCheckedContinuation { continuation in BlockingWork.run { continuation.resume(returning: body()) } }
    }
}

import ChildProcesses
import Foundation
import Glibc
import Testing

extension EndToEnd {
    /// What the tool makes where the umask keeps nobody out.
    struct PrivateFilesTests {
        @Test func `only its owner may read a backup`() async throws {
            let system = try await RunningSystem.shared(), media = "\(system.directory)/media/private/1"
            try FileManager.default.createDirectory(atPath: media, withIntermediateDirectories: true)
            try "bytes".write(toFile: "\(media)/object", atomically: false, encoding: .utf8)
            let backup = "\(system.directory)/backups/private"
            let made = try await run("backup '\(backup)' --include-keys", SystemBackup.environment(system))
            try FileManager.default.removeItem(atPath: "\(system.directory)/media/private")
            #expect(made.status == .exited(0), "\(made.output)")
            let names = try FileManager.default.subpathsOfDirectory(atPath: backup)
            for name in ["database.dump", "manifest.json", "keys.env", "media/private/1/object"] {
                #expect(names.contains(name), "\(names)")
            }
            for path in [backup] + names.map({ "\(backup)/\($0)" }) {
                let (mode, isDirectory) = try permissions(path)
                #expect(mode == (isDirectory ? 0o700 : 0o600), "\(path): \(String(mode, radix: 8))")
            }
        }

        @Test func `only its owner may write to the data directory of a system`() async throws {
            let directory = FileManager.default.temporaryDirectory.path + "/partita-e2e-umask-\(getpid())"
            defer { try? FileManager.default.removeItem(atPath: directory) }
            let environment = CurrentEnvironment.variables.filter { !$0.key.hasPrefix("PARTITA_") }
                .merging(["PARTITA_LEASE_DURATION": "nonsense"]) { $1 }  // it ends when it has made them
            let port = try RunningSystem.freePorts()
            let made = try await run("up --data '\(directory)' --port \(port) --app '\(TestApp.rchat)'", environment)
            #expect(made.status == .exited(1), "\(made.output)")
            for path in ["", "/engines", "/engines/postgres", "/logs", "/media", "/run", "/lock"] {
                let (mode, _) = try permissions(directory + path)
                #expect(mode & 0o022 == 0, "\(path): \(String(mode, radix: 8))")
            }
        }

        private func run(_ words: String, _ environment: [String: String]) async throws -> CapturedRun {
            let tool = CurrentEnvironment.sibling("partita")
            return try await CapturedRun.run(
                "/bin/sh", ["-c", "umask 000; exec '\(tool)' \(words)"], environment: environment)
        }

        private func permissions(_ path: String) throws -> (mode: Int, isDirectory: Bool) {
            let attributes = try FileManager.default.attributesOfItem(atPath: path)
            let mode = try #require((attributes[.posixPermissions] as? NSNumber)?.intValue)
            return (mode, attributes[.type] as? FileAttributeType == .typeDirectory)
        }
    }
}

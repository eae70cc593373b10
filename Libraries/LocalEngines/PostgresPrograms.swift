import ChildProcesses
import Foundation

/// Finds the programs of Postgres.
public enum PostgresPrograms {
    /// The directory that contains a program. Debian keeps those of the server outside of `PATH`, in a directory per version, of
    /// which the newest is used.
    /// - Throws: `EngineError` that names the package to install.
    public static func directory(of program: String) throws(EngineError) -> String {
        let root = "/usr/lib/postgresql"
        let versions = ((try? FileManager.default.contentsOfDirectory(atPath: root)) ?? []).compactMap(Int.init)
            .sorted(by: >)
        let paths = (CurrentEnvironment.variables["PATH"] ?? "").split(separator: ":").map(String.init)
        for folder in versions.map({ "\(root)/\($0)/bin" }) + paths
        where FileManager.default.isExecutableFile(atPath: "\(folder)/\(program)") {
            return folder
        }
        let package = program == "initdb" ? "postgresql" : "postgresql-client"
        throw EngineError(
            engine: "postgres",
            message: "\(program) was not found in \(root) or PATH: install the package \(package)")
    }
}

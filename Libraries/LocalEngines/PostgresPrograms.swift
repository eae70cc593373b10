import ChildProcesses
import Foundation

/// Where the programs are that come with Postgres.
public enum PostgresPrograms {
    /// The directory that has a program: Debian keeps those of the server out of `PATH`, in a directory by version, of which the
    /// newest is taken.
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

import ChildProcesses
import Foundation

/// Finds the programs of Postgres.
public enum PostgresPrograms {
    /// Debian keeps the programs of the server outside of `PATH`, in a directory per version.
    static let root = "/usr/lib/postgresql"

    /// The directory that contains a program.
    /// - Parameter version: the major version to use if it is installed; otherwise it is the newest.
    /// - Throws: `EngineError` that names the package to install.
    public static func directory(of program: String, preferring version: Int? = nil) throws(EngineError) -> String {
        if let folder = folders(in: root, preferring: version).first(where: { contains($0, program) }) { return folder }
        let package = program == "initdb" ? "postgresql" : "postgresql-client"
        throw EngineError(
            engine: "postgres",
            message: "\(program) was not found in \(root) or PATH: install the package \(package)")
    }

    /// The directory with the server's programs of just this version: no other can use a data directory of it.
    /// - Parameter version: as in the directory's `PG_VERSION`.
    static func directory(ofServer version: String) async -> String? {
        let usual = "\(root)/\(version)/bin"
        if contains(usual, "postgres") { return usual }
        for folder in folders(in: root, preferring: nil) where contains(folder, "postgres") {
            if let own = try? await majorVersion(of: folder + "/postgres"), "\(own)" == version { return folder }
        }
        return nil
    }

    /// Where to look, the best place first.
    static func folders(in root: String, preferring version: Int?) -> [String] {
        let versions = ((try? FileManager.default.contentsOfDirectory(atPath: root)) ?? []).compactMap { Int($0) }
            .sorted { ($0 == version ? 1 : 0, $0) > ($1 == version ? 1 : 0, $1) }
        let paths = (CurrentEnvironment.variables["PATH"] ?? "").split(separator: ":").map(String.init)
        return versions.map { "\(root)/\($0)/bin" } + paths
    }

    private static func contains(_ folder: String, _ program: String) -> Bool {
        FileManager.default.isExecutableFile(atPath: "\(folder)/\(program)")
    }

    /// The major version of a program, as it says itself.
    /// - Parameter path: where the program is.
    /// - Throws: `EngineError` when it doesn't say it.
    public static func majorVersion(of path: String) async throws(EngineError) -> Int {
        let run: CapturedRun
        do {
            run = try await CapturedRun.run(path, ["--version"])
        } catch {
            throw EngineError(engine: "postgres", message: "\(error)")
        }
        guard run.status.isSuccess, let version = majorVersion(in: run.output) else {
            throw EngineError(engine: "postgres", message: "\(path) doesn't say its version: \(run.output)")
        }
        return version
    }

    /// - Parameter text: such as `pg_dump (PostgreSQL) 15.18 (Debian 15.18-0+deb12u1)`, or `… 18beta1`.
    static func majorVersion(in text: String) -> Int? {
        let word = text.split(whereSeparator: \.isWhitespace).first { $0.first?.isNumber == true }
        return word.flatMap { Int($0.prefix { $0.isNumber }) }
    }
}

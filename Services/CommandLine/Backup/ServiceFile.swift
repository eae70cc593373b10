import ChildProcesses
import Glibc

/// A connection service file with secret parameters that libpq takes from no variable, such as `sslpassword`: others can't read it, and
/// see only its name. It is in memory, so that nothing is left of it when this process is killed.
enum ServiceFile {
    /// Runs `body` with the environment of a program that reads the file.
    /// - Throws: `ToolError` when a parameter can't be passed in this way, `ChildProcessError` without memory; and what `body` throws.
    static func with<R>(
        _ secrets: [String: String], _ environment: [String: String], isService: Bool,
        _ body: ([String: String]) async throws -> R
    ) async throws -> R {
        guard !secrets.isEmpty else { return try await body(environment) }
        let names = secrets.keys.sorted()
        // A connection has only one service.
        guard !isService, environment["PGSERVICE"] == nil else {
            throw ToolError(
                "\(names.joined(separator: ", ")) of Postgres' URL can't be passed on beside a service: write it into the service file"
            )
        }
        var text = "[\(service)]\n"
        for name in names {
            let value = secrets[name] ?? ""
            // libpq reads a line, without spaces at its end.
            guard !value.unicodeScalars.contains(where: { $0 == "\n" || $0 == "\r" || $0 == "\0" }),
                value.unicodeScalars.last?.properties.isWhitespace != true
            else { throw ToolError("\(name) of Postgres' URL has a line break, or a space at its end: change it") }
            text += "\(name)=\(value)\n"
        }
        let file = try MemoryFile(Array(text.utf8), for: "libpq")
        let place = "/proc/\(getpid())/fd/\(file.descriptor)"
        // The file is there until the program has ended.
        defer { withExtendedLifetime(file) {} }
        return try await body(environment.merging(["PGSERVICEFILE": place, "PGSERVICE": service]) { $1 })
    }

    private static let service = "partita"
}

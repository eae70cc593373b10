import Foundation
import Glibc
import LocalEngines

/// Says that a data directory is in use: two systems on one would stop each other's engines.
enum SystemLock {
    /// Runs `body` as the only one on the directory. The kernel gives the lock back when the process ends, however it does.
    /// - Throws: `EngineError` when another process has it, with its number; and what `body` throws.
    static func hold<R>(_ places: Places, _ body: () async throws -> R) async throws -> R {
        try places.create()
        let file = places.data + "/lock"
        // Not inherited by children, which may live a little longer than this process.
        let descriptor = open(file, O_RDWR | O_CREAT | O_CLOEXEC, 0o644)
        guard descriptor >= 0 else { throw failure("can't write \(file): \(String(cString: strerror(errno)))") }
        defer { close(descriptor) }
        guard flock(descriptor, LOCK_EX | LOCK_NB) == 0 else {
            let owner = (try? String(contentsOfFile: file, encoding: .utf8)) ?? "?"  // it only makes the message better
            throw failure(
                "a system runs in \(places.data) already (process \(owner)): stop it, or choose another place with --data"
            )
        }
        try "\(getpid())".write(toFile: file, atomically: false, encoding: .utf8)
        // It names nobody then. The file stays: to delete it would let two have the lock, the one on the old file, the other on a new one.
        defer { ftruncate(descriptor, 0) }
        return try await body()
    }

    private static func failure(_ message: String) -> EngineError { EngineError(engine: "up", message: message) }
}

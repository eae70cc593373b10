import Foundation
import Glibc
import LocalEngines

/// The lock of a data directory: two systems on one directory would stop each other's engines.
enum SystemLock {
    /// Runs `body` with exclusive use of the directory. The kernel releases the lock when the process ends for any reason.
    /// - Throws: `EngineError` with the process id when another process holds the lock; and what `body` throws.
    static func hold<R>(_ places: Places, _ body: () async throws -> R) async throws -> R {
        try places.create()
        let file = places.data + "/lock"
        // Not inherited by children, which may live a little longer than this process.
        let descriptor = open(file, O_RDWR | O_CREAT | O_CLOEXEC, 0o644)
        guard descriptor >= 0 else { throw failure("can't write \(file): \(String(cString: strerror(errno)))") }
        defer { close(descriptor) }
        guard flock(descriptor, LOCK_EX | LOCK_NB) == 0 else {
            let owner = (try? String(contentsOfFile: file, encoding: .utf8)) ?? "?"  // only improves the message
            throw failure(
                "a system runs in \(places.data) already (process \(owner)): stop it, or choose another place with --data"
            )
        }
        try "\(getpid())".write(toFile: file, atomically: false, encoding: .utf8)
        // The file no longer names a process then. It isn't deleted: otherwise two processes could hold the lock, one on the old
        // file and one on a new one.
        defer { ftruncate(descriptor, 0) }
        return try await body()
    }

    private static func failure(_ message: String) -> EngineError { EngineError(engine: "up", message: message) }
}

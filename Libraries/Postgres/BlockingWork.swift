import Dispatch

/// What blocks in libpq (resolving names, PQcancel) runs on Dispatch's own threads, never on a loop or Swift's pool.
enum BlockingWork {
    static func run(_ work: @escaping @Sendable () -> Void, then: @escaping @Sendable () -> Void = {}) {
        DispatchQueue.global(qos: .userInitiated).async {
            work()
            then()
        }
    }
}

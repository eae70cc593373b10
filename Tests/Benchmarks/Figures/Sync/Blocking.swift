import EventLoop

/// Work of a benchmark that blocks, on a thread of its own.
enum Blocking {
    static func run<R: Sendable>(_ work: @escaping @Sendable () throws -> R) async throws -> R {
        try await withUnsafeThrowingContinuation { continuation in
            BlockingWork.run { continuation.resume(with: Result(catching: work)) }
        }
    }
}

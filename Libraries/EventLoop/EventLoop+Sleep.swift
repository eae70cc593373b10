extension EventLoop {
    /// Sleeps on the loop's own timers. Isn't ended by cancellation.
    public func sleep(ms: UInt64) async {
        let sleeper = Sleeper()
        await withUnsafeContinuation { (continuation: UnsafeContinuation<Void, Never>) in
            execute { sleeper.start(on: self, ms: ms) { _ in continuation.resume() } }
        }
    }

    /// Sleeps on the loop's own timers, for at least the time given.
    /// - Throws: `CancellationError` when the task is cancelled before.
    public func sleep(for duration: Duration) async throws {
        let sleeper = Sleeper()
        try await withTaskCancellationHandler {
            try await withUnsafeThrowingContinuation { (continuation: UnsafeContinuation<Void, any Error>) in
                execute {
                    sleeper.start(on: self, ms: UInt64(duration.wholeMilliseconds)) { continuation.resume(with: $0) }
                }
            }
        } onCancel: {
            execute { sleeper.end(with: .failure(CancellationError())) }
        }
    }
}

extension Duration {
    /// The duration in milliseconds, rounded up: 0 for a negative duration, and at most about 2^53.
    public var wholeMilliseconds: Int64 {
        let (seconds, attoseconds) = components
        if seconds < 0 || attoseconds < 0 { return 0 }
        return min(seconds, 1 << 43) * 1000 + (attoseconds + 999_999_999_999_999) / 1_000_000_000_000_000
    }
}

/// One sleep. `@unchecked Sendable`: loop only.
private final class Sleeper: @unchecked Sendable {
    private var timer: LoopTimer?
    private var finish: ((Result<Void, any Error>) -> Void)?
    private var result: Result<Void, any Error>?

    func start(on loop: EventLoop, ms: UInt64, _ finish: @escaping (Result<Void, any Error>) -> Void) {
        if let result {  // cancelled before it began
            finish(result)
            return
        }
        self.finish = finish
        let timer = LoopTimer(loop) { [unowned self] in end(with: .success(())) }
        self.timer = timer
        timer.start(ms: ms)
    }

    func end(with result: Result<Void, any Error>) {
        self.result = result
        timer?.close()
        timer = nil
        let finish = finish
        self.finish = nil
        finish?(result)
    }
}

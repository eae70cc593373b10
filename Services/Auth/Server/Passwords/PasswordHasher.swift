import EventLoop

/// Hashes and verifies passwords with argon2id on a few threads of its own: each takes tens of milliseconds and megabytes, for which
/// neither an event loop nor the cooperative pool may be blocked.
final class PasswordHasher: Sendable {
    private let workers: [HashingWorker]
    private let state: Locked<State>
    private let costs: PasswordCosts
    private let metrics: AuthMetrics

    private typealias Queue = PasswordQueue<CheckedContinuation<Void, Never>>

    private struct State {
        var queue: Queue
        /// How much each thread has to do.
        var loads: [Int]
        /// How long one takes on a thread, in seconds: a moving average.
        var seconds = 0.05
    }

    /// - Parameter queueLimit: how many may wait.
    init(threads: Int, costs: PasswordCosts, queueLimit: Int, metrics: AuthMetrics) {
        self.costs = costs
        self.metrics = metrics
        workers = (0..<max(1, threads)).map { HashingWorker(name: "password-\($0)") }
        // An app alone gets half of the places: a thread for each.
        state = Locked(
            State(
                queue: PasswordQueue(places: 2 * workers.count, limit: queueLimit),
                loads: Array(repeating: 0, count: workers.count)))
    }

    /// - Throws: `serviceUnavailable` when too many wait already, or memory is short; `tooManyRequests` when too many of the app or the
    ///   address do.
    func hash(_ password: String, for caller: PasswordCaller) async throws -> String {
        let costs = costs
        let hash = try await work(for: caller) {
            Sodium.hashPassword(password, operations: costs.operations, memoryBytes: costs.memoryBytes)
        }
        guard let hash else {
            throw AuthError(.serviceUnavailable, "the password can't be hashed now", retryAfter: 1)
        }
        return hash
    }

    /// Whether the password belongs to the hash. Without a hash it takes as long and is false, so that the time doesn't show
    /// whether an account exists.
    ///
    /// - Returns: also whether the password should be hashed again: it was with other costs, or by another system.
    /// - Throws: as `hash`.
    func verify(
        _ password: String, hash: String?, for caller: PasswordCaller
    ) async throws -> (matches: Bool, needsRehash: Bool) {
        let costs = costs
        return try await work(for: caller) {
            guard let hash else {
                _ = Sodium.hashPassword(password, operations: costs.operations, memoryBytes: costs.memoryBytes)
                return (false, false)
            }
            guard let hash = PasswordHash(hash), hash.matches(password) else { return (false, false) }
            return (true, hash.isOutdated(operations: costs.operations, memoryBytes: costs.memoryBytes))
        }
    }

    /// Ends the threads; the hasher must not be used after that.
    func stop() { for worker in workers { worker.executor.stop() } }

    private func work<Result: Sendable>(
        for caller: PasswordCaller, _ body: @Sendable () -> Result
    ) async throws -> Result {
        let start = ContinuousClock.now
        try await begin(caller)
        // Not in turns: while one thread is slow, the other would wait for it.
        let index = state.withLock { state in
            let index = state.loads.indices.min { state.loads[$0] < state.loads[$1] } ?? 0
            state.loads[index] += 1
            return index
        }
        let (result, took) = await workers[index].run(body)
        end(caller, on: index, took: took)
        metrics.passwordSeconds.record(ContinuousClock.now - start)
        return result
    }

    /// Returns when the caller may use a thread.
    private func begin(_ caller: PasswordCaller) async throws {
        var refusal: Queue.Refusal?
        await withCheckedContinuation { continuation in
            let isOver = state.withLock { state in
                if state.queue.take(caller.app) { return true }
                do throws(Queue.Refusal) {
                    try state.queue.append(continuation, of: caller)
                    return false
                } catch {
                    refusal = error
                    return true
                }
            }
            if isOver { continuation.resume() }
        }
        guard let refusal else { return }
        metrics.passwordsRefused.increment()
        let seconds = state.withLock { Double($0.queue.count) * $0.seconds } / Double(workers.count)
        let pause = max(1, min(30, Int(seconds.rounded(.up))))
        switch refusal {
        case .full: throw AuthError(.serviceUnavailable, "too many passwords to check at once", retryAfter: pause)
        case .share:
            throw AuthError(
                .tooManyRequests, "too many passwords from here at once; try again in \(pause) s", retryAfter: pause)
        }
    }

    private func end(_ caller: PasswordCaller, on worker: Int, took: Duration) {
        let next = state.withLock { state in
            state.loads[worker] -= 1
            state.seconds = 0.9 * state.seconds + 0.1 * (took / .seconds(1))
            state.queue.release(caller.app)
            var next: [CheckedContinuation<Void, Never>] = []
            while let waiting = state.queue.next() { next.append(waiting) }
            return next
        }
        for continuation in next { continuation.resume() }
    }
}

/// The costs of a password's hash, as libsodium has them.
struct PasswordCosts: Sendable {
    var operations = 2
    var memoryBytes = 19 << 20
}

/// One thread.
private actor HashingWorker {
    nonisolated let executor: ThreadExecutor
    nonisolated var unownedExecutor: UnownedSerialExecutor { executor.asUnownedSerialExecutor() }

    init(name: String) { executor = ThreadExecutor(name: name) }

    /// - Returns: also how long it took on the thread.
    func run<Result: Sendable>(_ body: @Sendable () -> Result) -> (Result, Duration) {
        let start = ContinuousClock.now
        let result = body()
        return (result, ContinuousClock.now - start)
    }
}

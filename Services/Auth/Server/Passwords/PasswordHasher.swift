import EventLoop

/// Hashes and verifies passwords with argon2id on a few threads of its own: it takes tens of milliseconds and megabytes each time,
/// which neither an event loop nor the cooperative pool may lose.
final class PasswordHasher: Sendable {
    private let workers: [HashingWorker]
    private let state = Locked(State())
    private let queueLimit: Int
    private let costs: PasswordCosts
    private let metrics: AuthMetrics

    private struct State {
        var waiting = 0
        var next = 0
    }

    init(threads: Int, costs: PasswordCosts, queueLimit: Int = 500, metrics: AuthMetrics) {
        self.costs = costs
        self.queueLimit = queueLimit
        self.metrics = metrics
        workers = (0..<max(1, threads)).map { HashingWorker(name: "password-\($0)") }
    }

    /// - Throws: `serviceUnavailable` when too many wait already, or memory is short.
    func hash(_ password: String) async throws -> String {
        let costs = costs
        let hash = try await work {
            Sodium.hashPassword(password, operations: costs.operations, memoryBytes: costs.memoryBytes)
        }
        guard let hash else { throw AuthError(.serviceUnavailable, "the password can't be hashed now") }
        return hash
    }

    /// Whether the password belongs to the hash. Without a hash it takes as long and is false, so that nobody learns by the time
    /// whether an account exists.
    ///
    /// - Returns: also whether the hash should be made anew, with today's costs.
    func verify(_ password: String, hash: String?) async throws -> (matches: Bool, needsRehash: Bool) {
        let costs = costs
        return try await work {
            guard let hash else {
                _ = Sodium.hashPassword(password, operations: costs.operations, memoryBytes: costs.memoryBytes)
                return (false, false)
            }
            let matches = Sodium.verifyPassword(password, hash: hash)
            return (
                matches,
                matches && Sodium.needsRehash(hash, operations: costs.operations, memoryBytes: costs.memoryBytes)
            )
        }
    }

    /// Ends the threads; nothing may be asked for after that.
    func stop() { for worker in workers { worker.executor.stop() } }

    private func work<Result: Sendable>(_ body: @Sendable () -> Result) async throws -> Result {
        let worker: HashingWorker? = state.withLock { state in
            guard state.waiting < queueLimit else { return nil }
            state.waiting += 1
            state.next += 1
            return workers[state.next % workers.count]
        }
        guard let worker else { throw AuthError(.serviceUnavailable, "too many sign-ins at once") }
        defer { state.withLock { $0.waiting -= 1 } }
        let start = ContinuousClock.now
        let result = await worker.run(body)
        metrics.passwordSeconds.record(ContinuousClock.now - start)
        return result
    }
}

/// What a password's hash costs.
struct PasswordCosts: Sendable {
    var operations = 2
    var memoryBytes = 19 << 20
}

/// One thread.
private actor HashingWorker {
    nonisolated let executor: ThreadExecutor
    nonisolated var unownedExecutor: UnownedSerialExecutor { executor.asUnownedSerialExecutor() }

    init(name: String) { executor = ThreadExecutor(name: name) }

    func run<Result: Sendable>(_ body: @Sendable () -> Result) -> Result { body() }
}

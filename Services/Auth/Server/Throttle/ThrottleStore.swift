import EventLoop
import Logging
import Redis

/// A change of the counts that limit calls: a script for Redis, and the same for the memory of this process.
struct ThrottleScript: Sendable {
    let redis: RedisScript
    /// The equal of the script: takes the same keys and arguments, and returns the same answer.
    let local: @Sendable (inout LocalCounts, [String], [Int64]) -> Int64
}

/// The counts that limit calls. They are in Redis, so that all instances count together. While Redis is away each
/// instance counts in its own memory: users can still sign in, and guessing stays limited.
final class ThrottleStore: Sendable {
    private struct State {
        var counts = LocalCounts()
        var isAway = false
    }

    private let redis: RedisClient
    private let prefix: String
    private let metrics: AuthMetrics
    private let logger: Logger
    private let state = Locked(State())

    init(redis: RedisClient, prefix: String, metrics: AuthMetrics, logger: Logger) {
        self.redis = redis
        self.prefix = prefix
        self.metrics = metrics
        self.logger = logger
    }

    /// Runs a script that answers with the milliseconds to wait, 0 for none.
    ///
    /// - Throws: `tooManyRequests` with the seconds to wait.
    func require(_ script: ThrottleScript, keys: [String], arguments: [Int], _ what: String) async throws {
        let wait = try await run(script, keys: keys, arguments: arguments)
        guard wait > 0 else { return }
        metrics.throttled.increment()
        let seconds = Int((wait + 999) / 1000)
        throw AuthError(.tooManyRequests, "\(what); try again in \(seconds) s", retryAfter: seconds)
    }

    /// Runs a script.
    @discardableResult
    func run(_ script: ThrottleScript, keys: [String], arguments: [Int] = []) async throws -> Int64 {
        // A command would wait for the connection, and the caller with it.
        if redis.connectionCount == 0, state.withLock({ $0.isAway }) { return local(script, keys, arguments).answer }
        do {
            let answer = try await redis.eval(
                script.redis, keys: keys.map { prefix + $0 }, arguments: arguments.map { "\($0)" })
            if state.withLock({ state in
                defer { state.isAway = false }
                return state.isAway
            }) {
                logger.notice("attempts are counted in Redis again")
            }
            guard case .integer(let wait) = answer else { return 0 }
            return Int64(wait)
        } catch let error as RedisError {
            let (answer, isNews) = local(script, keys, arguments)
            // Once per outage, not once per call.
            if isNews {
                logger.warning("attempts are counted in this process alone", metadata: ["error": "\(error)"])
            }
            return answer
        }
    }

    private func local(_ script: ThrottleScript, _ keys: [String], _ arguments: [Int]) -> (answer: Int64, isNews: Bool)
    {
        metrics.throttleFailures.increment()
        return state.withLock { state in
            defer { state.isAway = true }
            return (script.local(&state.counts, keys, arguments.map { Int64($0) }), !state.isAway)
        }
    }
}

import Logging
import Redis

/// Counts in Redis that calls are measured by. When Redis is away, calls go on uncounted (and are counted as such): signing in
/// matters more, and the queue of the hashing threads bounds the rate.
struct ThrottleStore: Sendable {
    /// `nil` counts nothing.
    var redis: RedisClient?
    var prefix: String
    var metrics: AuthMetrics
    var logger: Logger

    /// Runs a script that answers with the milliseconds to wait, 0 for none.
    ///
    /// - Throws: `tooManyRequests` with the seconds to wait.
    func require(_ script: RedisScript, keys: [String], arguments: [String], _ what: String) async throws {
        guard case .integer(let wait)? = try await run(script, keys: keys, arguments: arguments), wait > 0 else {
            return
        }
        metrics.throttled.increment()
        let seconds = Int((wait + 999) / 1000)
        throw AuthError(.tooManyRequests, "\(what); try again in \(seconds) s", retryAfter: seconds)
    }

    /// Runs a script.
    ///
    /// - Returns: `nil` when Redis is away.
    @discardableResult
    func run(_ script: RedisScript, keys: [String], arguments: [String] = []) async throws -> RedisValue? {
        guard let redis else { return nil }
        do {
            return try await redis.eval(script, keys: keys.map { prefix + $0 }, arguments: arguments)
        } catch let error as RedisError {
            metrics.throttleFailures.increment()
            logger.warning("attempts can't be counted", metadata: ["error": "\(error)"])
            return nil
        }
    }
}

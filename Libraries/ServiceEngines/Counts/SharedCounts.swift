import EventLoop
import Logging
import Redis

/// The counts that limit calls. They are in Redis, so that all instances of a service count together. While Redis is away each instance
/// counts in its own memory: nothing fails for it, and the limits stay.
package final class SharedCounts: Sendable {
    private struct State {
        var counts = LocalCounts()
        var isAway = false
    }

    private let redis: RedisClient
    private let prefix: String
    private let logger: Logger
    private let onFailure: @Sendable () -> Void
    private let state = Locked(State())

    /// - Parameters:
    ///   - prefix: of all keys in Redis.
    ///   - onFailure: called for each call that Redis couldn't count.
    package init(redis: RedisClient, prefix: String, logger: Logger, onFailure: @escaping @Sendable () -> Void) {
        self.redis = redis
        self.prefix = prefix
        self.logger = logger
        self.onFailure = onFailure
    }

    /// Takes a call from several limits of so many calls a minute, a minute's worth of which may come at once.
    ///
    /// - Returns: the milliseconds to wait, and nothing is taken; 0 if the call is admitted.
    package func spend(_ limits: [(key: String, perMinute: Int)]) async throws -> Int64 {
        try await run(.budget, keys: limits.map(\.key), arguments: limits.map(\.perMinute))
    }

    /// Counts a call in a time that begins with the first one.
    ///
    /// - Returns: its number within that time.
    package func count(_ key: String, within time: Duration) async throws -> Int64 {
        try await run(.window, keys: [key], arguments: [Int(time / .milliseconds(1))])
    }

    /// Runs a script.
    @discardableResult
    package func run(_ script: CountScript, keys: [String], arguments: [Int] = []) async throws -> Int64 {
        // A command would wait for the connection, and the caller with it.
        if redis.connectionCount == 0, state.withLock({ $0.isAway }) { return local(script, keys, arguments).answer }
        do {
            let answer = try await redis.eval(
                script.redis, keys: keys.map { prefix + $0 }, arguments: arguments.map { "\($0)" })
            if accepted(script, keys, arguments) { logger.notice("calls are counted in Redis again") }
            guard case .integer(let number) = answer else { return 0 }
            return Int64(number)
        } catch let error as RedisError {
            let (answer, isNews) = local(script, keys, arguments)
            // Once per outage, not once per call.
            if isNews {
                logger.warning("calls are counted in this process alone", metadata: ["error": "\(error)"])
            }
            return answer
        }
    }

    /// What a process has counted while Redis was away is taken back there, too: a full Redis counts nothing, but removes counts. So that it
    /// does doesn't show that it counts again.
    /// - Returns: whether Redis counts again.
    private func accepted(_ script: CountScript, _ keys: [String], _ arguments: [Int]) -> Bool {
        state.withLock { state in
            guard !script.givesBack else {
                _ = script.local(&state.counts, keys, arguments.map { Int64($0) })
                return false
            }
            defer { state.isAway = false }
            return state.isAway
        }
    }

    private func local(_ script: CountScript, _ keys: [String], _ arguments: [Int]) -> (answer: Int64, isNews: Bool) {
        onFailure()
        return state.withLock { state in
            defer { state.isAway = true }
            return (script.local(&state.counts, keys, arguments.map { Int64($0) }), !state.isAway)
        }
    }
}

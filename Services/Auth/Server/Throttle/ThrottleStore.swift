import Logging
import Redis
import ServiceEngines

/// The counts that limit calls of auth; callers beyond a limit are refused. While Redis is away users can still sign in, and guessing
/// stays limited.
struct ThrottleStore: Sendable {
    let counts: SharedCounts
    private let metrics: AuthMetrics

    init(redis: RedisClient, prefix: String, metrics: AuthMetrics, logger: Logger) {
        self.metrics = metrics
        counts = SharedCounts(redis: redis, prefix: prefix, logger: logger) { metrics.throttleFailures.increment() }
    }

    /// Runs a script that answers with the milliseconds to wait, 0 for none.
    ///
    /// - Throws: `tooManyRequests` with the seconds to wait.
    func require(_ script: CountScript, keys: [String], arguments: [Int], _ what: String) async throws {
        try refuse(for: try await counts.run(script, keys: keys, arguments: arguments), what)
    }

    /// Takes a call from several limits of so many calls a minute.
    ///
    /// - Throws: `tooManyRequests` with the seconds to wait.
    func require(_ limits: [(key: String, perMinute: Int)], _ what: String) async throws {
        try refuse(for: try await counts.spend(limits), what)
    }

    private func refuse(for wait: Int64, _ what: String) throws(AuthError) {
        guard wait > 0 else { return }
        metrics.throttled.increment()
        let seconds = Int((wait + 999) / 1000)
        throw AuthError(.tooManyRequests, "\(what); try again in \(seconds) s", retryAfter: seconds)
    }
}

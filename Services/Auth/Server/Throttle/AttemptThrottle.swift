import Logging
import Redis

/// Slows down who guesses: attempts are counted in Redis per account and per address, and beyond a free number each one makes the
/// next wait twice as long. A success clears the account's count.
///
/// An attempt is counted before it is made, so that many at once don't slip through together. When Redis is away, attempts go
/// on uncounted (and are counted as such): signing in matters more, and the hashing threads bound the rate.
struct AttemptThrottle: Sendable {
    /// The limits for one kind of subject.
    struct Limits: Sendable {
        /// Attempts that cost nothing.
        var free: Int
        /// The longest wait, in seconds.
        var longest: Int
        /// A count is forgotten after so many seconds without an attempt.
        var memory: Int
    }

    /// `nil` counts nothing.
    var redis: RedisClient?
    var prefix: String
    var account = Limits(free: 5, longest: 900, memory: 3600)
    var address = Limits(free: 200, longest: 60, memory: 900)
    var metrics: AuthMetrics
    var logger: Logger

    /// Counts an attempt.
    ///
    /// - Parameters:
    ///   - kind: what is attempted; counts of different kinds are apart.
    ///   - subject: the account; only a digest of it is stored.
    ///   - address: where the attempt comes from; empty when that isn't known.
    /// - Throws: `tooManyRequests` with the seconds to wait.
    func attempt(_ kind: String, app: String, subject: String, address: String) async throws {
        guard let redis else { return }
        do {
            let reply = try await redis.eval(
                Self.script, keys: keys(kind, app: app, subject: subject, address: address),
                arguments: [
                    "\(account.free)", "\(account.longest)", "\(account.memory)", "\(self.address.free)",
                    "\(self.address.longest)", "\(self.address.memory)",
                ])
            guard case .integer(let wait) = reply, wait > 0 else { return }
            metrics.throttled.increment()
            let seconds = Int((wait + 999) / 1000)
            throw AuthError(.tooManyRequests, "too many attempts; try again in \(seconds) s", retryAfter: seconds)
        } catch let error as RedisError {
            metrics.throttleFailures.increment()
            logger.warning("attempts can't be counted", metadata: ["error": "\(error)"])
        }
    }

    /// Clears what was counted for an attempt that succeeded.
    func succeeded(_ kind: String, app: String, subject: String, address: String) async {
        guard let redis else { return }
        let keys = keys(kind, app: app, subject: subject, address: address)
        do {
            try await redis.eval(Self.successScript, keys: keys)
        } catch {
            metrics.throttleFailures.increment()
            logger.warning("a count of attempts can't be cleared", metadata: ["error": "\(error)"])
        }
    }

    private func keys(_ kind: String, app: String, subject: String, address: String) -> [String] {
        let account = hexadecimal(Array(Sodium.digest(subject).prefix(16)))
        return ["\(prefix)\(app):\(kind):account:\(account)", "\(prefix)\(app):\(kind):address:\(address)"]
    }

    /// Each key holds `n`, the attempts, and `u`, the moment (Redis' clock, milliseconds) until which the next is refused.
    private static let script = RedisScript(
        """
        local time = redis.call('TIME')
        local now = time[1] * 1000 + math.floor(time[2] / 1000)
        local wait = 0
        for i = 1, 2 do
          local until_ = tonumber(redis.call('HGET', KEYS[i], 'u') or '0')
          if until_ - now > wait then wait = until_ - now end
        end
        if wait > 0 then return wait end
        for i = 1, 2 do
          local free, longest, memory = tonumber(ARGV[i * 3 - 2]), tonumber(ARGV[i * 3 - 1]), tonumber(ARGV[i * 3])
          local n = redis.call('HINCRBY', KEYS[i], 'n', 1)
          if n >= free then
            local pause = math.min(2 ^ math.min(n - free, 20), longest) * 1000
            redis.call('HSET', KEYS[i], 'u', string.format('%d', now + pause))
          end
          redis.call('EXPIRE', KEYS[i], memory)
        end
        return 0
        """)

    private static let successScript = RedisScript(
        """
        redis.call('DEL', KEYS[1])
        if tonumber(redis.call('HGET', KEYS[2], 'n') or '0') > 0 then
          redis.call('HINCRBY', KEYS[2], 'n', -1)
          redis.call('HDEL', KEYS[2], 'u')
        end
        return 0
        """)
}

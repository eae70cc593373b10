import Redis

/// Who is online, as leases in Redis. All times are Redis' own, so that no two machines' clocks have to agree.
///
/// `presence:<app>/<user>/<device>` is a device's lease, with its TTL; `presence:devices:<app>/<user>` the devices of a user that have
/// one; `presence:version:<app>/<user>` counts the user's flips; `presence:deadlines` holds every lease's end. A user is online while
/// any device is.
///
/// Redis may forget all of it. A version is never below Redis' clock, so flips go on counting upwards; devices that are connected get
/// a new lease at their next renewal; and `presence:mark` is missing, which says that users may be taken for online who are gone.
public struct PresenceLeases: Sendable {
    private let redis: RedisClient
    /// Milliseconds.
    private let ttl: Int
    /// Sets systems apart that share a Redis.
    private let prefix: String

    /// - Parameters:
    ///   - ttl: how long a lease lasts that nobody renews.
    ///   - prefix: stands before all keys.
    public init(redis: RedisClient, ttl: Duration, prefix: String = "") {
        self.redis = redis
        self.ttl = Int(max(ttl / .milliseconds(1), 1))
        self.prefix = prefix
    }

    /// Renews leases, or gives new ones.
    /// - Returns: the flips of those that had none.
    /// - Throws: `RedisError`.
    public func refresh(_ members: [PresenceMember]) async throws -> [PresenceFlip] {
        let values = try await redis.pipeline(
            members.map { RedisCommand(Self.refreshScript, keys: [prefix], arguments: [$0.userText, $0.device, ttl]) })
        return try zip(members, values).compactMap { try PresenceFlip($0, try $1.get(), isOnline: true) }
    }

    /// Ends a lease: the device says that it leaves, or its connection broke.
    /// - Returns: the flip; `nil` when it had no lease.
    public func leave(_ member: PresenceMember) async throws -> PresenceFlip? {
        let value = try await redis.eval(Self.leaveScript, keys: [prefix], arguments: [member.userText, member.device])
        return try PresenceFlip(member, value, isOnline: false)
    }

    /// Takes leases that have run out. A claim is itself a lease: who doesn't `confirm` it within `claimTime`, has it taken by the
    /// next, so a watcher that dies loses none.
    /// - Parameter limit: how many at the most.
    /// - Returns: their flips, and after which time the next one may run out, whoever gets a lease meanwhile.
    public func claimExpired(limit: Int, claimTime: Duration) async throws -> (flips: [PresenceFlip], next: Duration) {
        let value = try await redis.eval(
            Self.claimScript, keys: [prefix], arguments: [limit, Int(claimTime / .milliseconds(1)), ttl])
        guard let answer = value.array, answer.count == 2, let next = answer[1].int else {
            throw RedisError(.unexpectedReply, "a presence script gave \(value)")
        }
        let flips = try (answer[0].array ?? []).compactMap { entry -> PresenceFlip? in
            guard let parts = entry.array, parts.count == 4, let text = parts[0].string,
                let member = PresenceMember(text: text)
            else { return nil }
            return try PresenceFlip(member, .array(Array(parts.dropFirst())), isOnline: false)
        }
        return (flips, .milliseconds(next))
    }

    /// The flips' effects have committed: nobody has to claim them again.
    public func confirm(_ members: [PresenceMember]) async throws {
        _ = try await redis.pipeline(
            members.map { RedisCommand(Self.confirmScript, keys: [prefix], arguments: [$0.userText, $0.device]) })
    }

    /// Whether Redis has forgotten everything, and the caller is the one to look after those who were online then.
    /// - Parameter claimTime: when nobody has called `remember` by then, the next may try.
    public func claimForgotten(claimTime: Duration) async throws -> Bool {
        let value = try await redis.eval(
            Self.forgottenScript, keys: [prefix], arguments: [Int(claimTime / .milliseconds(1))])
        return value.int == 1
    }

    /// The flips of those users, of the given ones, who have no device; the given one is named.
    public func absent(_ members: [PresenceMember]) async throws -> [PresenceFlip] {
        let values = try await redis.pipeline(
            members.map { RedisCommand(Self.absentScript, keys: [prefix], arguments: [$0.userText]) })
        return try zip(members, values).compactMap { try PresenceFlip($0, try $1.get(), isOnline: false) }
    }

    /// Sets the mark, unless Redis has forgotten everything again since `claimForgotten`.
    public func remember() async throws { _ = try await redis.eval(Self.rememberScript, keys: [prefix]) }

    /// `now`, and the number of a user's next flip: one more than before, and never less than the time in microseconds.
    private static let prelude = """
        local t = redis.call('TIME') local now = t[1] * 1000 + math.floor(t[2] / 1000)
        local function flip(p, user)
            local key = p .. 'presence:version:' .. user
            local version = math.max((tonumber(redis.call('GET', key)) or 0) + 1, t[1] * 1000000 + t[2])
            redis.call('SET', key, string.format('%.0f', version))
            return version
        end
        """

    /// Gives `{version, devices, now}` for a new lease, nil for a renewed one.
    private static let refreshScript = RedisScript(
        """
        \(prelude)
        local p, user, device, ttl = KEYS[1], ARGV[1], ARGV[2], tonumber(ARGV[3])
        local member = user .. '/' .. device
        local known = redis.call('EXISTS', p .. 'presence:' .. member)
        redis.call('SET', p .. 'presence:' .. member, now, 'PX', ttl)
        redis.call('ZADD', p .. 'presence:deadlines', now + ttl, member)
        if known == 1 then return false end
        redis.call('SADD', p .. 'presence:devices:' .. user, device)
        return { flip(p, user), redis.call('SCARD', p .. 'presence:devices:' .. user), now }
        """)

    private static let leaveScript = RedisScript(
        """
        \(prelude)
        local p, user, device = KEYS[1], ARGV[1], ARGV[2]
        local member = user .. '/' .. device
        redis.call('ZREM', p .. 'presence:deadlines', member)
        redis.call('SREM', p .. 'presence:devices:' .. user, device)
        if redis.call('DEL', p .. 'presence:' .. member) == 0 then return false end
        return { flip(p, user), redis.call('SCARD', p .. 'presence:devices:' .. user), now }
        """)

    /// A lease that was renewed meanwhile is put back to its end; one that is gone is claimed.
    private static let claimScript = RedisScript(
        """
        \(prelude)
        local p, limit, claim, ttl = KEYS[1], tonumber(ARGV[1]), tonumber(ARGV[2]), tonumber(ARGV[3])
        local due = redis.call('ZRANGEBYSCORE', p .. 'presence:deadlines', '-inf', now, 'LIMIT', 0, limit)
        local claimed = {}
        for _, member in ipairs(due) do
            local left = redis.call('PTTL', p .. 'presence:' .. member)
            if left > 0 then
                redis.call('ZADD', p .. 'presence:deadlines', now + left, member)
            else
                redis.call('ZADD', p .. 'presence:deadlines', now + claim, member)
                local app, name, device = string.match(member, '^([^/]*)/([^/]*)/(.*)$')
                local user = app .. '/' .. name
                redis.call('SREM', p .. 'presence:devices:' .. user, device)
                claimed[#claimed + 1] = {
                    member, flip(p, user),
                    redis.call('SCARD', p .. 'presence:devices:' .. user), now
                }
            end
        end
        local first = redis.call('ZRANGE', p .. 'presence:deadlines', 0, 0, 'WITHSCORES')[2]
        return { claimed, math.min(first and math.max(first - now, 0) or ttl, ttl) }
        """)

    /// Unless the device has come back meanwhile.
    private static let confirmScript = RedisScript(
        """
        local p, member = KEYS[1], ARGV[1] .. '/' .. ARGV[2]
        if redis.call('EXISTS', p .. 'presence:' .. member) == 0 then redis.call('ZREM', p .. 'presence:deadlines', member) end
        return 1
        """)

    private static let forgottenScript = RedisScript(
        """
        local p, claim = KEYS[1], ARGV[1]
        if redis.call('EXISTS', p .. 'presence:mark') == 1 then return 0 end
        return redis.call('SET', p .. 'presence:marking', 1, 'NX', 'PX', claim) and 1 or 0
        """)

    private static let absentScript = RedisScript(
        """
        \(prelude)
        local p, user = KEYS[1], ARGV[1]
        if redis.call('SCARD', p .. 'presence:devices:' .. user) > 0 then return false end
        return { flip(p, user), 0, now }
        """)

    private static let rememberScript = RedisScript(
        """
        local p = KEYS[1]
        if redis.call('DEL', p .. 'presence:marking') == 1 then redis.call('SET', p .. 'presence:mark', 1) end
        return 1
        """)
}

import Redis

/// Who is online, as leases in Redis. All times are Redis' own, so that no two machines' clocks have to agree.
///
/// `presence:<app>/<user>/<device>` is a device's lease, with its TTL; `presence:devices:<app>/<user>` the devices of a user that have
/// one; `presence:version:<app>/<user>` counts the user's flips; `presence:deadlines` holds every lease's end. A user is online while
/// any device is.
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
    public func claimExpired(limit: Int, claimTime: Duration) async throws -> [PresenceFlip] {
        let value = try await redis.eval(
            Self.claimScript, keys: [prefix], arguments: [limit, Int(claimTime / .milliseconds(1))])
        return try (value.array ?? []).compactMap { entry in
            guard let parts = entry.array, parts.count == 4, let text = parts[0].string,
                let member = PresenceMember(text: text)
            else { return nil }
            return try PresenceFlip(member, .array(Array(parts.dropFirst())), isOnline: false)
        }
    }

    /// The flips' effects have committed: nobody has to claim them again.
    public func confirm(_ members: [PresenceMember]) async throws {
        _ = try await redis.pipeline(
            members.map { RedisCommand(Self.confirmScript, keys: [prefix], arguments: [$0.userText, $0.device]) })
    }

    private static let now = "local t = redis.call('TIME') local now = t[1] * 1000 + math.floor(t[2] / 1000)"

    /// Gives `{version, devices, now}` for a new lease, nil for a renewed one.
    private static let refreshScript = RedisScript(
        """
        \(now)
        local p, user, device, ttl = KEYS[1], ARGV[1], ARGV[2], tonumber(ARGV[3])
        local member = user .. '/' .. device
        local known = redis.call('EXISTS', p .. 'presence:' .. member)
        redis.call('SET', p .. 'presence:' .. member, now, 'PX', ttl)
        redis.call('ZADD', p .. 'presence:deadlines', now + ttl, member)
        if known == 1 then return false end
        redis.call('SADD', p .. 'presence:devices:' .. user, device)
        return { redis.call('INCR', p .. 'presence:version:' .. user), redis.call('SCARD', p .. 'presence:devices:' .. user), now }
        """)

    private static let leaveScript = RedisScript(
        """
        \(now)
        local p, user, device = KEYS[1], ARGV[1], ARGV[2]
        local member = user .. '/' .. device
        redis.call('ZREM', p .. 'presence:deadlines', member)
        redis.call('SREM', p .. 'presence:devices:' .. user, device)
        if redis.call('DEL', p .. 'presence:' .. member) == 0 then return false end
        return { redis.call('INCR', p .. 'presence:version:' .. user), redis.call('SCARD', p .. 'presence:devices:' .. user), now }
        """)

    /// A lease that was renewed meanwhile is put back to its end; one that is gone is claimed.
    private static let claimScript = RedisScript(
        """
        \(now)
        local p, limit, claim = KEYS[1], tonumber(ARGV[1]), tonumber(ARGV[2])
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
                    member, redis.call('INCR', p .. 'presence:version:' .. user),
                    redis.call('SCARD', p .. 'presence:devices:' .. user), now
                }
            end
        end
        return claimed
        """)

    /// Unless the device has come back meanwhile.
    private static let confirmScript = RedisScript(
        """
        local p, member = KEYS[1], ARGV[1] .. '/' .. ARGV[2]
        if redis.call('EXISTS', p .. 'presence:' .. member) == 0 then redis.call('ZREM', p .. 'presence:deadlines', member) end
        return 1
        """)
}

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

    private static let refreshScript = RedisScript(PackageResources.prelude_lua, PackageResources.refresh_lua)
    private static let leaveScript = RedisScript(PackageResources.prelude_lua, PackageResources.leave_lua)
    private static let claimScript = RedisScript(PackageResources.prelude_lua, PackageResources.claim_lua)
    private static let confirmScript = RedisScript(PackageResources.confirm_lua)
    private static let forgottenScript = RedisScript(PackageResources.forgotten_lua)
    private static let absentScript = RedisScript(PackageResources.prelude_lua, PackageResources.absent_lua)
    private static let rememberScript = RedisScript(PackageResources.remember_lua)
}

import Redis

/// The devices that are online, as leases in Redis. All times are by Redis' clock, so that machines' clocks needn't agree.
///
/// `presence:<app>/<user>/<device>` is a device's lease, with its TTL, and says whether its beginning is told, and
/// to which gateway the device has connected last;
/// `presence:devices:<app>/<user>` the devices of a user that have one; `presence:version:<app>/<user>` counts the user's flips, for a day after the last;
/// `presence:deadlines` holds every lease's end. A user is online while any device is.
///
/// Redis may lose all of this. A version is never below Redis' clock, so flips continue to count upwards; connected devices get a
/// new lease at their next renewal; and `presence:mark` is missing, which shows that offline users may still be recorded as online.
public struct PresenceLeases: Sendable {
    private let redis: RedisClient
    /// How long a lease lasts, in milliseconds.
    private let ttl: Int
    /// Separates systems that share a Redis.
    private let prefix: String
    /// The process whose devices' leases these are.
    private let holder = String(UInt64.random(in: 0...(.max)), radix: 16)

    /// - Parameters:
    ///   - ttl: how long a lease lasts without renewal.
    ///   - prefix: the prefix of all keys.
    public init(redis: RedisClient, ttl: Duration, prefix: String = "") {
        self.redis = redis
        self.ttl = Int(max(ttl / .milliseconds(1), 1))
        self.prefix = prefix
    }

    /// Renews leases, or creates them.
    /// - Parameter joining: whether the devices have just connected to this process, which takes the leases over from any other. A
    ///   renewal leaves them with the process to which the device has connected last.
    /// - Returns: the flips of the members that had no lease, or one that wasn't ``told(_:)`` in a quarter of its time: whoever created it may
    ///   have died before.
    /// - Throws: `RedisError`.
    public func refresh(_ members: [PresenceMember], joining: Bool = false) async throws -> [PresenceFlip] {
        let values = try await redis.pipeline(
            members.map {
                RedisCommand(
                    Self.refreshScript, keys: [prefix],
                    arguments: [$0.userText, $0.device, ttl, holder, joining ? 1 : 0])
            })
        return try zip(members, values).compactMap { try PresenceFlip($0, try $1.get(), isOnline: true) }
    }

    /// Records that the flips of new leases have been published.
    public func told(_ members: [PresenceMember]) async throws {
        _ = try await redis.pipeline(
            members.map { RedisCommand(Self.toldScript, keys: [prefix], arguments: [$0.userText, $0.device]) })
    }

    /// Ends a lease: the device says that it leaves, or its connection broke. If the caller doesn't `confirm` it within the time of a
    /// lease, a watcher claims it as one that has expired.
    /// - Returns: the flip; `nil` when it had no lease, or has connected to another process since.
    public func leave(_ member: PresenceMember) async throws -> PresenceFlip? {
        let value = try await redis.eval(
            Self.leaveScript, keys: [prefix], arguments: [member.userText, member.device, ttl, holder])
        return try PresenceFlip(member, value, isOnline: false)
    }

    /// Claims expired leases. A claim is itself a lease: if the caller doesn't `confirm` it within `claimTime`, another watcher may
    /// claim it, so a watcher that dies loses none.
    /// - Parameter limit: the maximum number of leases that are claimed.
    /// - Returns: their flips, and the time until the next lease may expire, including leases that are created in the meantime.
    public func claimExpired(limit: Int, claimTime: Duration) async throws -> (flips: [PresenceFlip], next: Duration) {
        let value = try await redis.eval(
            Self.claimScript, keys: [prefix], arguments: [limit, Int(claimTime / .milliseconds(1)), ttl])
        guard let answer = value.array, answer.count == 2, let next = answer[1].int else {
            throw RedisError(.unexpectedReply, "a presence script returned \(value)")
        }
        let flips = try (answer[0].array ?? []).compactMap { entry -> PresenceFlip? in
            guard let parts = entry.array, parts.count == 4, let text = parts[0].string,
                let member = PresenceMember(text: text)
            else { return nil }
            return try PresenceFlip(member, .array(Array(parts.dropFirst())), isOnline: false)
        }
        return (flips, .milliseconds(next))
    }

    /// Records that the flips' effects have committed, so that they aren't claimed again.
    public func confirm(_ members: [PresenceMember]) async throws {
        _ = try await redis.pipeline(
            members.map { RedisCommand(Self.confirmScript, keys: [prefix], arguments: [$0.userText, $0.device]) })
    }

    /// Returns whether Redis has lost everything and the caller has to check the users that were online before.
    /// - Parameter claimTime: the time after which another caller may try, if `remember` wasn't called by then.
    public func claimForgotten(claimTime: Duration) async throws -> Bool {
        let value = try await redis.eval(
            Self.forgottenScript, keys: [prefix], arguments: [Int(claimTime / .milliseconds(1))])
        return value.int == 1
    }

    /// The flips of those given members whose users have no device online; each flip names the given member.
    public func absent(_ members: [PresenceMember]) async throws -> [PresenceFlip] {
        let values = try await redis.pipeline(
            members.map { RedisCommand(Self.absentScript, keys: [prefix], arguments: [$0.userText]) })
        return try zip(members, values).compactMap { try PresenceFlip($0, try $1.get(), isOnline: false) }
    }

    /// Sets the mark, unless Redis has lost everything again since `claimForgotten`.
    public func remember() async throws { _ = try await redis.eval(Self.rememberScript, keys: [prefix]) }

    private static let refreshScript = RedisScript(PackageResources.prelude_lua, PackageResources.refresh_lua)
    private static let toldScript = RedisScript(PackageResources.told_lua)
    private static let leaveScript = RedisScript(PackageResources.prelude_lua, PackageResources.leave_lua)
    private static let claimScript = RedisScript(PackageResources.prelude_lua, PackageResources.claim_lua)
    private static let confirmScript = RedisScript(PackageResources.confirm_lua)
    private static let forgottenScript = RedisScript(PackageResources.forgotten_lua)
    private static let absentScript = RedisScript(PackageResources.prelude_lua, PackageResources.absent_lua)
    private static let rememberScript = RedisScript(PackageResources.remember_lua)
}

import Redis

/// A device that came online or went offline.
public struct PresenceFlip: Hashable, Sendable {
    public var member: PresenceMember
    public var isOnline: Bool
    /// Whether the user has any device online afterwards.
    public var isUserOnline: Bool
    /// Counts the user's flips: an older flip must not overwrite the effect of a newer one.
    public var version: Int64
    /// Milliseconds since 1970, by Redis' clock.
    public var time: Int64

    public init(member: PresenceMember, isOnline: Bool, isUserOnline: Bool, version: Int64, time: Int64) {
        self.member = member
        self.isOnline = isOnline
        self.isUserOnline = isUserOnline
        self.version = version
        self.time = time
    }

    /// - Parameter value: `{version, devices of the user, time}`, or nil if nothing changed.
    init?(_ member: PresenceMember, _ value: RedisValue, isOnline: Bool) throws {
        guard let parts = value.array else { return nil }
        guard parts.count == 3, let version = parts[0].int, let devices = parts[1].int, let time = parts[2].int
        else { throw RedisError(.unexpectedReply, "a presence script returned \(value)") }
        self.init(
            member: member, isOnline: isOnline, isUserOnline: isOnline || devices > 0, version: Int64(version),
            time: Int64(time))
    }
}

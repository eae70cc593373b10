public import DocumentModel

/// The newest grant that a subscription knows: the user's own, or the one for all users if the user has none.
///
/// The first one that gives access is read from Postgres. The topic may bring one late that was replaced long ago, also behind the
/// revocation that replaced it, so what it says is taken only if it is newer than what is known, or takes access away.
public struct StandingGrant: Sendable {
    /// What a grant that came by the topic means for the subscription.
    public enum Effect: Sendable {
        /// Nothing.
        case none
        /// The grant counts.
        case replaced
        /// It isn't known which grant applies: the one for all users gives no access any more, or the user got one of their own before it. The
        /// subscription has to end, and the grant to be read, or asked for, again.
        case lapsed
    }

    /// The version of the grant; `nil` before the first.
    public private(set) var version: Revision?
    /// When it expires, in milliseconds since 1970; `nil` when it is valid until it is replaced.
    public private(set) var expiry: Int64?
    private var isForEveryone = false

    /// The subscription knows no grant yet.
    public init() {}

    /// Takes a grant that was read from Postgres.
    /// - Parameter isForEveryone: Whether it is the one for all users.
    /// - Returns: whether it counts: no newer one is known.
    public mutating func take(version: Revision, expires: Int64?, isForEveryone: Bool = false) -> Bool {
        if let known = self.version, version < known { return false }
        self.version = version
        self.isForEveryone = isForEveryone
        expiry = expires
        return true
    }

    /// Takes a grant that came by the topic.
    /// - Parameter isForEveryone: Whether it is the one for all users.
    public mutating func hear(
        _ access: Access, version: Revision, expires: Int64?, isForEveryone: Bool = false
    ) -> Effect {
        if isForEveryone {
            if let known = self.version, !self.isForEveryone || version <= known { return .none }
            if access == .none { return .lapsed }
        }
        // The own one takes precedence, but comes by another way: the one for all users may be newer. Number 0 is an answer, no grant: who got
        // it has the one for all users, also when that is of an epoch before.
        if !isForEveryone, self.isForEveryone, let known = self.version {
            if version.number == 0, access != .none { return .none }
            if version < known { return version.number > 0 ? .lapsed : .none }
        }
        guard self.version != nil || access == .none else { return .none }
        return take(version: version, expires: expires, isForEveryone: isForEveryone) ? .replaced : .none
    }

    /// Whether the grant has to be asked for again: it ends within `lead` milliseconds, or has ended.
    /// - Parameter now: Milliseconds since 1970.
    public func isRenewalDue(lead: Int64, now: Int64) -> Bool { expiry.map { $0 - lead <= now } ?? false }

    /// When to look again, after a grant has been asked for again: at its end, and without an answer at intervals of `lead`.
    /// - Parameter now: Milliseconds since 1970.
    /// - Returns: `nil` for a grant that doesn't end.
    public func nextRenewal(lead: Int64, now: Int64) -> Int64? { expiry.map { $0 <= now ? now + lead : $0 } }

    /// Whether the partition may be served now.
    ///
    /// - Parameters:
    ///   - leaseIsValid: Whether the gateway may serve by its grants at all.
    ///   - now: Milliseconds since 1970.
    public func holds(leaseIsValid: Bool, now: Int64) -> Bool { leaseIsValid && expiry.map { $0 > now } ?? true }
}

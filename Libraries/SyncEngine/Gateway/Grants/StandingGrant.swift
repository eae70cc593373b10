public import DocumentModel

/// The newest grant that a subscription knows.
///
/// The first one that gives access is read from Postgres. The topic may bring one late that was replaced long ago, also behind the
/// revocation that replaced it, so what it says is taken only if it is newer than what is known, or takes access away.
public struct StandingGrant: Sendable {
    /// The version of the grant; `nil` before the first.
    public private(set) var version: Revision?
    /// When it expires, in milliseconds since 1970; `nil` when it is valid until it is replaced.
    public private(set) var expiry: Int64?

    /// The subscription knows no grant yet.
    public init() {}

    /// Takes a grant that was read from Postgres.
    /// - Returns: whether it counts: no newer one is known.
    public mutating func take(version: Revision, expires: Int64?) -> Bool {
        if let known = self.version, version < known { return false }
        self.version = version
        expiry = expires
        return true
    }

    /// Takes a grant that came by the topic.
    /// - Returns: whether it counts.
    public mutating func hear(_ access: Access, version: Revision, expires: Int64?) -> Bool {
        guard self.version != nil || access == .none else { return false }
        return take(version: version, expires: expires)
    }

    /// Whether the partition may be served now.
    ///
    /// - Parameters:
    ///   - leaseIsValid: Whether the gateway may serve by its grants at all.
    ///   - now: Milliseconds since 1970.
    public func holds(leaseIsValid: Bool, now: Int64) -> Bool { leaseIsValid && expiry.map { $0 > now } ?? true }
}

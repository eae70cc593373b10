/// Tells by its times whether the end of a connection speaks against the suspect that was in flight
/// (``PendingChangeset/isSuspect``).
///
/// A network that fails, and a gateway that somebody else brings down, end connections too. So each suspect has its comparison: it
/// waits until the connection has lasted without it for as long as the last one lasted with it. A connection that ends sooner isn't
/// held against the suspect; one that ends in the time that the same connection had stood before it is. A large changeset on a slow
/// link that fails again and again is uploaded again and again, while one that ends its gateway is given up.
///
/// All times are readings of one monotonic clock.
public struct SuspectTrial: Sendable {
    private var connectedAt = Duration.zero
    private var sentAt: Duration?
    private var lasted = Duration.zero

    /// The longest time that a suspect waits.
    public static let longestWait = Duration.seconds(600)

    public init() {}

    /// A connection is ready for uploads.
    public mutating func connected(now: Duration) {
        connectedAt = now
        sentAt = nil
    }

    /// How much longer a suspect has to wait; zero when it may be uploaded.
    public func wait(now: Duration) -> Duration { max(connectedAt + lasted - now, .zero) }

    /// A suspect was uploaded.
    public mutating func uploaded(now: Duration) { sentAt = now }

    /// A changeset was answered: the suspect, if one is in flight, since then nothing else is.
    public mutating func answered() {
        guard sentAt != nil else { return }
        sentAt = nil
        lasted = .zero
    }

    /// The connection ended without a word of the gateway.
    ///
    /// - Returns: Whether that is held against what was in flight; `true` also when no suspect was.
    public mutating func connectionLost(now: Duration) -> Bool {
        guard let sentAt else { return true }
        self.sentAt = nil
        lasted = min(now - sentAt, Self.longestWait)
        return sentAt - connectedAt >= lasted
    }
}

import DocumentModel

/// The app, user and device of a connection.
public struct ConnectionIdentity: Hashable, Sendable {
    @ExactText public var app: String
    @ExactText public var user: String
    @ExactText public var device: String

    public init(app: String, user: String, device: String) {
        self.app = app
        self.user = user
        self.device = device
    }
}

/// The limits of a connection.
public struct ConnectionLimits: Hashable, Sendable {
    /// The largest frame in bytes, in either direction.
    public var frameBytes: Int
    /// How many changesets may be unanswered at once; of one partition at most `DevicePartition.uploadWindow`.
    public var uploadWindow: Int
    /// How many partitions may be open at once.
    public var subscriptions: Int
    /// How long a connection may take to send `hello`.
    public var helloTimeout: Duration
    /// How long a connection may be silent; devices ping at a third of it.
    public var idleTimeout: Duration

    public init(
        frameBytes: Int = 16 << 20, uploadWindow: Int = 64, subscriptions: Int = 100,
        helloTimeout: Duration = .seconds(10), idleTimeout: Duration = .seconds(90)
    ) {
        self.frameBytes = frameBytes
        self.uploadWindow = uploadWindow
        self.subscriptions = subscriptions
        self.helloTimeout = helloTimeout
        self.idleTimeout = idleTimeout
    }
}

/// Decides what a connection may do and when, by its identity, the expiry of its token, its idle time, and what it has in flight.
///
/// Times are readings of one monotonic clock, the same for all calls.
public struct ConnectionStateMachine: Sendable {
    /// Why a frame isn't allowed.
    public enum Refusal: String, Error, Sendable {
        /// The first frame isn't `hello`, or a later one is.
        case helloExpected, alreadyOpen
        case tokenExpired
        /// A renewed token is for another user.
        case userChanged
        case tooManySubscriptions, notSubscribed
        case uploadWindowExceeded
        /// No `hello`, or no frame at all, for too long.
        case timedOut
        case closed
    }

    private enum State {
        case waitingForHello(deadline: Duration)
        case open(ConnectionIdentity, tokenExpiry: Duration)
        case closed
    }

    private var state: State
    private var lastHeard: Duration
    private var subscribed: Set<Partition> = []
    private var uploading: [Partition: Int] = [:]
    private let limits: ConnectionLimits

    public init(limits: ConnectionLimits, now: Duration) {
        self.limits = limits
        lastHeard = now
        state = .waitingForHello(deadline: now + limits.helloTimeout)
    }

    /// The identity of the connection; `nil` before `hello` and after the close.
    public var identity: ConnectionIdentity? {
        if case .open(let identity, _) = state { identity } else { nil }
    }

    /// The partitions that are open.
    public var subscriptions: Set<Partition> { subscribed }

    /// When `check` will throw, if nothing happens before; `nil` after the close.
    public var deadline: Duration? {
        switch state {
        case .waitingForHello(let deadline): deadline
        case .open(_, let expiry): min(expiry, lastHeard + limits.idleTimeout)
        case .closed: nil
        }
    }

    /// Records that a frame was received.
    public mutating func heard(now: Duration) { lastHeard = now }

    /// Checks whether the connection may continue.
    public func check(now: Duration) throws(Refusal) {
        switch state {
        case .waitingForHello(let deadline): if now >= deadline { throw .timedOut }
        case .open(_, let expiry):
            if now >= expiry { throw .tokenExpired }
            if now >= lastHeard + limits.idleTimeout { throw .timedOut }
        case .closed: throw .closed
        }
    }

    /// Opens the connection after a `hello` whose token was verified.
    public mutating func open(_ identity: ConnectionIdentity, tokenExpiry: Duration, now: Duration) throws(Refusal) {
        guard case .waitingForHello = state else { throw .alreadyOpen }
        try check(now: now)
        if now >= tokenExpiry { throw .tokenExpired }
        state = .open(identity, tokenExpiry: tokenExpiry)
    }

    /// Takes the expiry of a new token that was verified.
    public mutating func renew(user: String, tokenExpiry: Duration, now: Duration) throws(Refusal) {
        let identity = try requireOpen(now: now)
        if !identity.user.hasSameBytes(as: user) { throw .userChanged }
        if now >= tokenExpiry { throw .tokenExpired }
        state = .open(identity, tokenExpiry: tokenExpiry)
    }

    /// Admits a subscription, or one that takes the place of the partition's former one.
    public mutating func subscribe(_ partition: Partition, now: Duration) throws(Refusal) {
        _ = try requireOpen(now: now)
        if subscribed.count >= limits.subscriptions, !subscribed.contains(partition) { throw .tooManySubscriptions }
        subscribed.insert(partition)
    }

    /// Forgets a subscription that has ended, for whatever reason.
    public mutating func unsubscribe(_ partition: Partition) { subscribed.remove(partition) }

    /// Admits an upload of some changesets.
    public mutating func upload(_ partition: Partition, count: Int, now: Duration) throws(Refusal) {
        _ = try requireOpen(now: now)
        guard subscribed.contains(partition) else { throw .notSubscribed }
        let here = uploading[partition] ?? 0
        guard count <= limits.uploadWindow - uploading.values.reduce(0, +), count <= DevicePartition.uploadWindow - here
        else { throw .uploadWindowExceeded }
        uploading[partition] = here + count
    }

    /// A changeset was answered.
    public mutating func answered(_ partition: Partition) {
        guard let count = uploading[partition] else { return }
        uploading[partition] = count > 1 ? count - 1 : nil
    }

    /// The connection is gone.
    public mutating func close() {
        state = .closed
        subscribed = []
        uploading = [:]
    }

    private func requireOpen(now: Duration) throws(Refusal) -> ConnectionIdentity {
        try check(now: now)
        guard case .open(let identity, _) = state else { throw .helloExpected }
        return identity
    }
}

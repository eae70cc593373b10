/// Decides for a device's connection to its gateway when to connect, authenticate, renew the token, ping and wait.
///
/// It has no clock and no timers. Every call passes the current time of a monotonic clock and returns the actions to perform; the
/// owner calls `tick` at `deadline`. Connections have numbers, so that events of a connection that was given up are ignored.
public struct DeviceConnection: Sendable {
    /// What the owner has to do.
    public enum Action: Hashable, Sendable {
        /// Get an access token, then call `tokenObtained` or `tokenFailed`. When `fresh`, a cached token must not be used.
        case fetchToken(fresh: Bool)
        /// Open a transport, then call `opened` or `closed` with its number.
        case open(connection: Int)
        /// Send `hello` with the token.
        case sendHello
        /// Subscribe to every open partition, then upload.
        case resume
        /// Send the renewed token.
        case sendToken
        /// Send a `ping`.
        case sendPing
        /// Close the transport; partitions are disconnected.
        case close(connection: Int)
        /// The session has ended on the server: the user must sign in again.
        case signOut
    }

    /// The phase of the connection.
    public enum Phase: Hashable, Sendable {
        /// The app wants no connection, or the gateway forbade another attempt.
        case offline
        /// Waits until the given time before it connects again.
        case waiting(until: Duration)
        case authenticating
        case connecting
        /// The transport is open, `hello` was sent.
        case greeting
        case online
        /// The session has ended.
        case signedOut
    }

    /// How the gateway asks the device to react to an error.
    public enum Remedy: String, Sendable {
        /// Connect again after the back-off.
        case retry
        /// Connect again with a new token.
        case reauthenticate
        /// Don't connect again automatically.
        case close
        /// Do nothing: service resumes by itself.
        case wait
    }

    /// The time limits of a connection.
    public struct Timing: Sendable {
        /// From opening a transport to `welcome`.
        public var connect: Duration
        /// Silence after which the device pings.
        public var ping: Duration
        /// Silence after which the connection counts as dead; doubled with each connection in a row that ends so, up to sixteen times: a large
        /// frame on a slow link is silence, too, and would begin at its first byte again and again.
        public var silence: Duration
        /// How long before its expiry a token is renewed.
        public var renewal: Duration

        public init(
            connect: Duration = .seconds(20), ping: Duration = .seconds(25), silence: Duration = .seconds(60),
            renewal: Duration = .seconds(120)
        ) {
            self.connect = connect
            self.ping = ping
            self.silence = silence
            self.renewal = renewal
        }
    }

    /// The phase of the connection.
    public private(set) var phase = Phase.offline
    private let timing: Timing
    private var backoff: Backoff
    private var connection = 0
    private var needsFreshToken = false
    private var isRenewing = false
    private var renewalTime = Duration.zero
    private var startedAt = Duration.zero
    private var onlineAt = Duration.zero
    private var lastHeard = Duration.zero
    private var lastPing = Duration.zero
    private var patience = 1
    private static let maximumPatience = 16

    public init(timing: Timing = Timing(), backoff: Backoff) {
        self.timing = timing
        self.backoff = backoff
    }

    private var silence: Duration { timing.silence * patience }

    /// When `tick` has to be called, if nothing happens before; `nil` when it needn't be called.
    public var deadline: Duration? {
        switch phase {
        case .offline, .signedOut, .authenticating: nil
        case .waiting(let until): until
        case .connecting, .greeting: startedAt + timing.connect
        case .online:
            min(
                max(lastHeard, lastPing) + timing.ping, lastHeard + silence,
                isRenewing ? lastHeard + silence : renewalTime)
        }
    }

    // MARK: What the app wants

    /// The app wants to be connected.
    public mutating func goOnline() -> [Action] {
        switch phase {
        case .offline, .waiting, .signedOut: return authenticate()
        case .authenticating, .connecting, .greeting, .online: return []
        }
    }

    /// The app wants no connection.
    public mutating func goOffline() -> [Action] {
        defer { phase = .offline }
        patience = 1
        return closing()
    }

    // MARK: The token

    /// A token was obtained.
    ///
    /// - Parameter expiry: When it expires, on the clock of `now`.
    public mutating func tokenObtained(expiry: Duration, now: Duration) -> [Action] {
        // A token whose lifetime is shorter than `timing.renewal` isn't renewed again immediately.
        renewalTime = max(expiry - timing.renewal, now + timing.ping)
        needsFreshToken = false
        if phase == .online {
            guard isRenewing else { return [] }
            isRenewing = false
            return [.sendToken]
        }
        guard phase == .authenticating else { return [] }
        connection += 1
        phase = .connecting
        startedAt = now
        return [.open(connection: connection)]
    }

    /// No token could be obtained.
    ///
    /// - Parameter isFinal: The server refused the session's refresh token; otherwise it is tried again later.
    public mutating func tokenFailed(isFinal: Bool, now: Duration) -> [Action] {
        guard phase == .authenticating || isRenewing else { return [] }
        if isFinal {
            let actions = closing()
            phase = .signedOut
            return actions + [.signOut]
        }
        guard phase == .online else { return fail(now: now) }
        isRenewing = false
        renewalTime = now + timing.ping  // the old token is still valid for a while
        return []
    }

    // MARK: The transport

    /// The transport is open.
    public mutating func opened(connection: Int, now: Duration) -> [Action] {
        guard connection == self.connection, phase == .connecting else { return [] }
        phase = .greeting
        return [.sendHello]
    }

    /// The gateway sent `welcome`.
    ///
    /// - Parameter isSuspicious: The device is about to send a changeset that may have ended the last connections. The back-off
    ///   isn't reset, so that the next wait is longer if this connection ends, too.
    public mutating func welcomed(connection: Int, isSuspicious: Bool = false, now: Duration) -> [Action] {
        guard connection == self.connection, phase == .greeting else { return [] }
        phase = .online
        lastHeard = now
        lastPing = now
        onlineAt = now
        isRenewing = false
        if !isSuspicious { backoff.succeed() }
        return [.resume]
    }

    /// A frame was received.
    public mutating func heard(connection: Int, now: Duration) {
        guard connection == self.connection else { return }
        lastHeard = now
        // Later than the answers to what was sent first: a connection that lasts.
        if phase == .online, now >= onlineAt + timing.silence { patience = 1 }
    }

    /// The gateway reported an error of the whole connection.
    public mutating func failed(connection: Int, remedy: Remedy, now: Duration) -> [Action] {
        guard connection == self.connection, isOpen else { return [] }
        switch remedy {
        case .wait: return []
        case .retry: return fail(now: now)
        case .reauthenticate:
            needsFreshToken = true
            return fail(now: now)
        case .close:
            defer { phase = .offline }
            return closing()
        }
    }

    /// The transport was closed, or could not be opened.
    public mutating func closed(connection: Int, now: Duration) -> [Action] {
        guard connection == self.connection, isOpen else { return [] }
        return fail(now: now)
    }

    /// `deadline` was reached.
    public mutating func tick(now: Duration) -> [Action] {
        switch phase {
        case .waiting(let until): return now >= until ? authenticate() : []
        case .connecting, .greeting: return now >= startedAt + timing.connect ? fail(now: now) : []
        case .online:
            if now >= lastHeard + silence {
                patience = min(patience * 2, Self.maximumPatience)
                return fail(now: now)
            }
            var actions: [Action] = []
            if !isRenewing && now >= renewalTime {
                isRenewing = true
                actions.append(.fetchToken(fresh: true))
            }
            if now >= max(lastHeard, lastPing) + timing.ping {
                lastPing = now
                actions.append(.sendPing)
            }
            return actions
        case .offline, .authenticating, .signedOut: return []
        }
    }

    /// Whether this is the connection that is open, and not one that was given up.
    public func isCurrent(_ connection: Int) -> Bool { connection == self.connection && isOpen }

    private var isOpen: Bool { phase == .connecting || phase == .greeting || phase == .online }

    private mutating func authenticate() -> [Action] {
        phase = .authenticating
        return [.fetchToken(fresh: needsFreshToken)]
    }

    private mutating func fail(now: Duration) -> [Action] {
        let actions = closing()
        phase = .waiting(until: now + backoff.fail())
        return actions
    }

    private mutating func closing() -> [Action] {
        isRenewing = false
        return isOpen ? [.close(connection: connection)] : []
    }
}

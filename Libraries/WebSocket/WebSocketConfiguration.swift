/// The limits and timeouts of a WebSocket.
public struct WebSocketConfiguration: Sendable {
    /// The maximum size of a received message, in bytes, after inflating. A larger one ends the socket with 1009. Default: 1 MiB.
    public var maxMessageBytes = 1 << 20
    /// The number of queued bytes beyond which the socket is reset. This is a last resort: the owner's own window should be smaller
    /// (``WebSocket/queuedBytes``). Default: 16 MiB.
    public var maxQueuedBytes = 16 << 20
    /// A ping is sent when no data came from the peer for this long; `nil` for never. Default: 30 s.
    public var pingInterval: Duration? = .seconds(30)
    /// The peer counts as quiet (``WebSocket/onQuiet``) when no data comes for this long after a ping; `nil` for never. Default:
    /// `nil`.
    public var quietTimeout: Duration?
    /// The connection counts as lost when no data comes for this long after a ping. Default: 10 s.
    public var pongTimeout: Duration = .seconds(10)
    /// How long the peer may take to answer this side's close frame. Default: 5 s.
    public var closeTimeout: Duration = .seconds(5)
    /// Whether permessage-deflate is negotiated if the peer offers it. Default: true.
    public var allowsCompression = true

    /// Creates a configuration with the defaults that the properties describe.
    public init() {}
}

/// The configuration in the form that a session needs, allocated once and shared.
final class SessionSettings: Sendable {
    let maxMessageBytes: Int
    let maxQueuedBytes: Int
    let pingInterval: UInt64?
    let quietTimeout: UInt64?
    let pongTimeout: UInt64
    let closeTimeout: UInt64

    init(_ configuration: WebSocketConfiguration) {
        maxMessageBytes = configuration.maxMessageBytes
        maxQueuedBytes = configuration.maxQueuedBytes
        pingInterval = configuration.pingInterval.map(\.milliseconds)
        quietTimeout = configuration.quietTimeout.map(\.milliseconds)
        pongTimeout = configuration.pongTimeout.milliseconds
        closeTimeout = configuration.closeTimeout.milliseconds
    }
}

extension Duration {
    /// Whole milliseconds, at least one.
    package var milliseconds: UInt64 {
        let (seconds, attoseconds) = components
        return UInt64(max(1, seconds * 1000 + attoseconds / 1_000_000_000_000_000))
    }
}

/// Why a WebSocket ends (RFC 6455, section 7.4, and the IANA registry).
public struct WebSocketCloseCode: RawRepresentable, Hashable, Sendable, CustomStringConvertible {
    /// The number on the wire.
    public let rawValue: UInt16

    /// Takes any number; whether it may be sent is ``isSendable``.
    public init(rawValue: UInt16) { self.rawValue = rawValue }

    /// The purpose is fulfilled.
    public static let normal = WebSocketCloseCode(rawValue: 1000)
    /// The server goes down, or the app leaves.
    public static let goingAway = WebSocketCloseCode(rawValue: 1001)
    /// The peer broke the protocol.
    public static let protocolError = WebSocketCloseCode(rawValue: 1002)
    /// The peer sent a kind of data that isn't taken here.
    public static let unsupportedData = WebSocketCloseCode(rawValue: 1003)
    /// Never sent: the peer's close frame had no code.
    public static let noStatus = WebSocketCloseCode(rawValue: 1005)
    /// Never sent: the connection was lost without a close frame.
    public static let abnormal = WebSocketCloseCode(rawValue: 1006)
    /// A text that isn't UTF-8, or data that can't be inflated.
    public static let invalidPayload = WebSocketCloseCode(rawValue: 1007)
    /// The peer broke a rule of the application.
    public static let policyViolation = WebSocketCloseCode(rawValue: 1008)
    /// A message above the limit.
    public static let messageTooBig = WebSocketCloseCode(rawValue: 1009)
    /// The client misses an extension.
    public static let mandatoryExtension = WebSocketCloseCode(rawValue: 1010)
    /// The server failed.
    public static let internalError = WebSocketCloseCode(rawValue: 1011)
    /// The service restarts: reconnect after a random delay.
    public static let serviceRestart = WebSocketCloseCode(rawValue: 1012)
    /// Overload: reconnect later.
    public static let tryAgainLater = WebSocketCloseCode(rawValue: 1013)
    /// A gateway got an invalid answer from its upstream.
    public static let badGateway = WebSocketCloseCode(rawValue: 1014)

    /// Whether the code may stand in a close frame: 1000-1003, 1007-1014, 3000-4999.
    public var isSendable: Bool {
        switch rawValue {
        case 1000...1003, 1007...1014, 3000...4999: true
        default: false
        }
    }

    public var description: String { String(rawValue) }
}

/// How a WebSocket ended.
public struct WebSocketClosure: Sendable, Hashable {
    /// The peer's code; ours where we ended it for a violation or a limit; 1006 where the connection was lost.
    public var code: WebSocketCloseCode
    /// The peer's reason, or what we found wrong. At most 123 bytes where it came from the peer.
    public var reason: String
    /// The peer sent a close frame, so it knows of the end.
    public var isByPeer: Bool

    /// See the properties.
    public init(_ code: WebSocketCloseCode, _ reason: String = "", isByPeer: Bool = false) {
        self.code = code
        self.reason = reason
        self.isByPeer = isByPeer
    }
}

/// Why a WebSocket ends (RFC 6455, section 7.4, and the IANA registry).
public struct WebSocketCloseCode: RawRepresentable, Hashable, Sendable, CustomStringConvertible {
    /// The transmitted number.
    public let rawValue: UInt16

    /// Creates a code from any number; ``isSendable`` determines whether it may be sent.
    public init(rawValue: UInt16) { self.rawValue = rawValue }

    /// The connection has fulfilled its purpose.
    public static let normal = WebSocketCloseCode(rawValue: 1000)
    /// The server shuts down, or the client goes away.
    public static let goingAway = WebSocketCloseCode(rawValue: 1001)
    /// The peer violated the protocol.
    public static let protocolError = WebSocketCloseCode(rawValue: 1002)
    /// The peer sent a kind of data that isn't accepted.
    public static let unsupportedData = WebSocketCloseCode(rawValue: 1003)
    /// Never sent: the peer's close frame had no code.
    public static let noStatus = WebSocketCloseCode(rawValue: 1005)
    /// Never sent: the connection was lost without a close frame.
    public static let abnormal = WebSocketCloseCode(rawValue: 1006)
    /// A text that isn't UTF-8, or data that can't be inflated.
    public static let invalidPayload = WebSocketCloseCode(rawValue: 1007)
    /// The peer violated a rule of the application.
    public static let policyViolation = WebSocketCloseCode(rawValue: 1008)
    /// A message exceeds the limit.
    public static let messageTooBig = WebSocketCloseCode(rawValue: 1009)
    /// The server didn't negotiate an extension that the client requires.
    public static let mandatoryExtension = WebSocketCloseCode(rawValue: 1010)
    /// The server failed.
    public static let internalError = WebSocketCloseCode(rawValue: 1011)
    /// The service restarts: reconnect after a random delay.
    public static let serviceRestart = WebSocketCloseCode(rawValue: 1012)
    /// Overload: reconnect later.
    public static let tryAgainLater = WebSocketCloseCode(rawValue: 1013)
    /// A gateway got an invalid answer from its upstream.
    public static let badGateway = WebSocketCloseCode(rawValue: 1014)

    /// Whether the code may be sent in a close frame: 1000-1003, 1007-1014, 3000-4999.
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
    /// The peer's code; this side's if it ended the connection because of a violation or a limit; 1006 if the connection was lost.
    public var code: WebSocketCloseCode
    /// The peer's reason, of at most 123 bytes, or the problem that this side found.
    public var reason: String
    /// Whether the peer sent a close frame.
    public var isByPeer: Bool

    /// Creates a closure; the parameters are described at the properties.
    public init(_ code: WebSocketCloseCode, _ reason: String = "", isByPeer: Bool = false) {
        self.code = code
        self.reason = reason
        self.isByPeer = isByPeer
    }
}

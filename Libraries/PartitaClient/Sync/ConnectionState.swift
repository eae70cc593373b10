import SyncEngine

/// Where a session's connection to its gateway stands.
public enum ConnectionState: Hashable, Sendable {
    /// The app wants no connection, or the gateway forbade another attempt.
    case offline
    /// Waits before it tries again.
    case waiting
    /// Is getting a token, connecting or greeting.
    case connecting
    case online
    /// The session has ended: the user must sign in again.
    case signedOut

    init(_ phase: DeviceConnection.Phase) {
        switch phase {
        case .offline: self = .offline
        case .waiting: self = .waiting
        case .authenticating, .connecting, .greeting: self = .connecting
        case .online: self = .online
        case .signedOut: self = .signedOut
        }
    }
}

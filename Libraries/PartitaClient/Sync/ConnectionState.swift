import SyncEngine

/// The state of a session's connection to its gateway.
public enum ConnectionState: Hashable, Sendable {
    /// The app wants no connection, or the gateway forbade another attempt.
    case offline
    /// Waits for its back-off before it connects again.
    case waiting
    /// Fetches a token, opens the connection, or waits for the gateway's `welcome`.
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

import DocumentModel
import SyncProtocol

/// The presence of a user.
public struct UserPresence: Sendable {
    /// The user's id.
    public var user: String
    /// A state that the app defines, or `offline`.
    public var state: String
    /// When the user was last seen, milliseconds since 1970.
    public var lastSeen: Int64
    /// The data that the user's app added.
    public var data: Document?

    init(_ report: GatewayFrame.PresenceReport) {
        user = report.user
        state = report.state
        lastSeen = report.lastSeen
        data = report.data
    }
}

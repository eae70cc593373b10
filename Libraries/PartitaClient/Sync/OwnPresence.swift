import DocumentModel
import SyncProtocol

/// The presence that the app sets for its user, and the users whose presence it watches.
struct OwnPresence: Sendable {
    var state: String?
    var data: Document?
    /// How many streams watch each user.
    var watched: [ExactText: Int] = [:]

    /// Whether there is something to tell the gateway.
    var isUsed: Bool { state != nil || !watched.isEmpty }

    /// The frame with the presence and the watched users.
    var update: DeviceFrame.PresenceUpdate {
        DeviceFrame.PresenceUpdate(
            state: state ?? "online", data: data, watch: watched.keys.sorted().map(\.text))
    }
}

import DocumentModel
import SyncProtocol

/// The presence that the app sets for its user, and the users whose presence it watches.
struct OwnPresence: Sendable {
    var state: String?
    var data: Document?
    /// How many streams watch each user.
    var watched: [ExactText: Int] = [:]

    /// The frame with the presence and the watched users; `nil` when neither was set.
    var update: DeviceFrame.PresenceUpdate? {
        if state == nil && watched.isEmpty { return nil }
        return DeviceFrame.PresenceUpdate(
            state: state ?? "online", data: data, watch: watched.keys.sorted().map(\.text))
    }
}

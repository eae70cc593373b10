import DocumentModel
import SyncProtocol

/// What the app says about its user, and whose presence it wants to hear of.
struct OwnPresence: Sendable {
    var state: String?
    var data: Document?
    /// How many times each user is watched.
    var watched: [ExactText: Int] = [:]

    /// The frame that says all of it; `nil` when there is nothing to say.
    var update: DeviceFrame.PresenceUpdate? {
        if state == nil && watched.isEmpty { return nil }
        return DeviceFrame.PresenceUpdate(
            state: state ?? "online", data: data, watch: watched.keys.sorted().map(\.text))
    }
}

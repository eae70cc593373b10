/// `presence.watch` of `partita.json`: whose presence a user's devices may receive.
public enum PresenceWatch: String, Hashable, Sendable, CaseIterable {
    /// The presence of users with whom the user shares a partition that both may read.
    case shared
    /// The presence of every user of the app.
    case everybody
}

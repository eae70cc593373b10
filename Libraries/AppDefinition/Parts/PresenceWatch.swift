/// `presence.watch` of `partita.json`: whose presence a user's devices may hear of.
public enum PresenceWatch: String, Hashable, Sendable, CaseIterable {
    /// That of users with whom the user shares a partition that both may read.
    case shared
    /// That of every user of the app.
    case everybody
}

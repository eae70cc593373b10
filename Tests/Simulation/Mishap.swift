/// What may happen in a simulated world besides lost connections and lost answers.
public enum Mishap: CaseIterable, Sendable {
    /// The server goes back to a backup, and all connections end.
    case serverRestored
    /// The server goes back to a backup, and the gateways keep their sockets.
    case serverRestoredUnderSockets
    /// A device goes back to a backup.
    case deviceRestored
    /// A device's state is copied to another one, also while writes of it are unanswered, and both go on.
    case deviceCloned
    /// A user's right is revoked, and granted again.
    case revocation
    /// A gateway's lease lapses, and is renewed.
    case suspension
    /// Uploads of a lost connection are committed later.
    case straying
    /// The server drops the tombstones that it has.
    case tombstonesDropped
    /// Frames of the feed are lost, and earlier ones come again.
    case feedFaults
    /// Documents move to another partition, which some users may write.
    case moves
    /// The wall clocks of devices jump.
    case clockJumps
}

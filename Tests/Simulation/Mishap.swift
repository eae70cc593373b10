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
    /// A user's right is revoked or lowered, and granted again; processes of permissions end.
    case revocation
    /// A gateway is cut off from the grants until its lease has lapsed, or the loop of a session stands still.
    case suspension
    /// A gateway ends, and another one takes its place.
    case gatewayLost
    /// Relays end or stand still, and others take over.
    case relayHandOver
    /// Uploads of a lost connection are committed later.
    case straying
    /// The server drops the tombstones that it has.
    case tombstonesDropped
    /// Changes that the topic had are lost, and earlier ones come again.
    case feedFaults
    /// Documents move to another partition, which some users may write.
    case moves
    /// The wall clocks of devices jump.
    case clockJumps
    /// The rules become the same for all users, with one grant, or differ by user again.
    case sharedRules
    /// Grants hold for a while only, since they depend on what can't be watched, and time passes.
    case expiry
}

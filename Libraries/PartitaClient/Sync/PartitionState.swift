import DocumentModel
import SyncEngine

/// Where an open partition stands.
public struct PartitionState: Hashable, Sendable {
    /// What the user may do, as last heard.
    public var access: Access
    /// Whether the server has said on the present connection that the user may read it.
    public var isSubscribed: Bool
    /// Up to where the device shows the partition.
    public var checkpoint: Revision
    /// Whether the device has shown the partition's whole state once.
    public var isSynced: Bool
    /// How far a catch-up has come; `nil` when there is none.
    public var progress: CatchUpProgress?
    /// How many of the device's changesets the server hasn't answered.
    public var unanswered: Int
    /// Why the user may not read the partition; its data is gone then.
    public var revoked: String?
}

/// Something that the app may want to tell its user.
public enum SyncEvent: Sendable {
    /// A changeset was refused; it is in the partition's list of rejected ones.
    case rejected(Partition, version: Int64, OperationRejection)
    /// Writes of a changeset didn't count.
    case lost(Partition, version: Int64, [LostWrite])
    /// The user may not read the partition any more; its data is gone.
    case revoked(Partition, reason: String)
    /// The gateway reported an error.
    case error(code: String, message: String)
}

import DocumentModel
import SyncEngine

/// The state of an open partition.
public struct PartitionState: Hashable, Sendable {
    /// The user's access, as the gateway last reported it.
    public var access: Access
    /// Whether the server has confirmed on the current connection that the user may read the partition.
    public var isSubscribed: Bool
    /// The revision up to which the device shows the partition.
    public var checkpoint: Revision
    /// Whether the device has received the partition's whole state at least once.
    public var isSynced: Bool
    /// The progress of a catch-up; `nil` when none is running.
    public var progress: CatchUpProgress?
    /// How many of the device's changesets the server hasn't answered.
    public var unanswered: Int
    /// Why the user may not read the partition; its data is removed from the device then. Otherwise `nil`.
    public var revoked: String?
    /// Why the gateway doesn't serve the partition on this connection, such as `tooManySubscriptions` or `unknownPartition` as the
    /// `serverCode`, or why the connection has ended for good: the server's code, such as `unknownApp`, or `signedOut` as the `code`. The
    /// documents stay on the device, and writes wait. It is tried again on the next connection, when the app opens it again, and, if too
    /// many partitions were open, when the app closes one. Otherwise `nil`.
    public var refusal: PartitaError?
}

/// An event that the app may want to show its user.
public enum SyncEvent: Sendable {
    /// A changeset was rejected; it is in the partition's list of rejected changesets.
    case rejected(Partition, version: Int64, OperationRejection)
    /// Writes of a changeset had no effect.
    case lost(Partition, version: Int64, [LostWrite])
    /// The user may no longer read the partition; its data was removed from the device.
    case revoked(Partition, reason: String)
    /// The gateway reported an error.
    case error(code: String, message: String)
}

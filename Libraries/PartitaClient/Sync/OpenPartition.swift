import SyncEngine

/// A partition that the app has open.
struct OpenPartition: Sendable {
    var bookkeeping: DevicePartition
    /// How many open handles the partition has.
    var handles = 1
    var progress: CatchUpProgress?
    /// Whether `subscribe` was sent on the current connection.
    var isRequested = false
    var revoked: String?
    /// The waits between attempts to open it on the gateway.
    var backoff: Backoff
    var states = Broadcast<PartitionState>(limit: 1)

    var state: PartitionState {
        PartitionState(
            access: bookkeeping.access, isSubscribed: bookkeeping.isSubscribed, checkpoint: bookkeeping.checkpoint,
            isSynced: bookkeeping.isSynced, progress: progress,
            unanswered: bookkeeping.pending.count(where: \.isUnresolved), revoked: revoked)
    }
}

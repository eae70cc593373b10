import SyncEngine

/// A partition that the app has open.
struct OpenPartition: Sendable {
    var bookkeeping: DevicePartition
    /// How many handles there are.
    var handles = 1
    var progress: CatchUpProgress?
    /// Whether the gateway was asked for it on the present connection.
    var isRequested = false
    var revoked: String?
    /// Waits between attempts to open it on the gateway.
    var backoff: Backoff
    var states = Broadcast<PartitionState>(limit: 1)

    var state: PartitionState {
        PartitionState(
            access: bookkeeping.access, isSubscribed: bookkeeping.isSubscribed, checkpoint: bookkeeping.checkpoint,
            isSynced: bookkeeping.isSynced, progress: progress,
            unanswered: bookkeeping.pending.count(where: \.isUnresolved), revoked: revoked)
    }
}

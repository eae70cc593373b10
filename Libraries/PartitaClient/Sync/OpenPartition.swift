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
    /// Why the gateway doesn't serve it on the current connection, until it is tried again.
    var refusal: PartitaError?
    /// Grows with each partition that is opened: those that were opened first are subscribed first.
    let number: Int
    /// The waits between attempts to open it on the gateway.
    var backoff: Backoff
    var states = Broadcast<PartitionState>(limit: 1)

    var state: PartitionState {
        PartitionState(
            access: bookkeeping.access, isSubscribed: bookkeeping.isSubscribed, checkpoint: bookkeeping.checkpoint,
            isSynced: bookkeeping.isSynced, progress: progress,
            unanswered: bookkeeping.pending.unresolvedCount, revoked: revoked,
            refusal: refusal)
    }
}

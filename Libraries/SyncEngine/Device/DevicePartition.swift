import DocumentModel

/// What a device knows of one partition and of its own writes there: the bookkeeping of sync on the device's side.
///
/// It doesn't hold the documents. Each call says in `Effect`s what the local store has to do, in one transaction together
/// with saving the bookkeeping; so a device that is killed at any moment continues from where it was.
///
/// - What is shown is always the server's state with the changesets that it doesn't contain applied on top (`LocalView`).
/// - Received chunks of a catch-up are staged and become visible together, with the chunk that is final.
/// - A changeset leaves the view on top in the same step in which the server's state with it becomes visible, so nothing
///   flickers and no `$inc` shows twice.
public struct DevicePartition: Sendable {
    /// What the local store has to do.
    public enum Effect: Sendable {
        /// Forget what was staged.
        case clearStaged
        /// Keep changes, invisible for now; a later change of a document replaces an earlier one.
        case stage([DocumentChange])
        /// Make what is staged visible, and compute again what is shown of each document that changes by it. When `replacing`,
        /// documents that aren't staged go.
        case publishStaged(replacing: Bool)
        /// Make changes visible.
        case apply([DocumentChange])
        /// Compute again what is shown of these documents.
        case rebase(Set<DocumentKey>)
        /// Tell the app about writes that didn't count.
        case report(version: Int64, lost: [LostWrite])
        /// Add to the list of rejected changesets, and tell the app.
        case reject(Changeset, OperationRejection)
        /// Keep an acknowledged changeset that the state has, to offer it again should the server forget it.
        case retain(Changeset)
        /// Forget the changesets that are kept, from after a version.
        case forgetRetained(after: Int64)
        /// Remove every document of the partition, and the changesets that are kept.
        case wipe
    }

    /// What is wrong with a download.
    public enum Fault: Error, Hashable, Sendable {
        /// Changes are missing between what the device has and what came: subscribe again.
        case gap
    }

    /// Up to where the device shows the partition. Number 0 stands for nothing yet.
    public internal(set) var checkpoint: Revision
    /// Up to where it has received it, staged chunks included: the checkpoint to subscribe with.
    public internal(set) var received: Revision
    /// Whether chunks are staged.
    public internal(set) var isStaging: Bool
    /// Whether the staged chunks replace all that is shown.
    public internal(set) var isReplacing: Bool
    /// The last version that the state that is shown contains.
    public internal(set) var containedVersion: Int64
    /// The last version that the staged state contains.
    public internal(set) var stagedVersion: Int64
    /// The version that the next changeset takes.
    public internal(set) var nextVersion: Int64
    /// The device's own changesets that the server's state doesn't contain, or whose answer is due; in order.
    public internal(set) var pending: [PendingChangeset]
    /// What the user may do, as last heard.
    public internal(set) var access: Access
    /// Whether the gateway has answered a `subscribe` on the present connection.
    public internal(set) var isSubscribed = false
    /// The last version that the server had when it answered: what is not behind it may be there already.
    public internal(set) var serverVersion: Int64 = 0
    /// Whether the server has another's changesets under this device's versions: the device was restored from a backup or
    /// cloned, and takes a new id as soon as `isReadyToFork`.
    public internal(set) var isForked = false
    /// Whether the server takes nothing new under this id any more, as it has said on the present connection.
    var isClosed = false
    /// Whether the server missed versions, and has answered nothing since.
    var hasMetGap = false

    /// The bookkeeping of a partition as it was saved; the defaults are those of one that was never opened.
    public init(
        checkpoint: Revision = Revision(epoch: 0, number: 0), received: Revision? = nil, isStaging: Bool = false,
        isReplacing: Bool = false, containedVersion: Int64 = 0, stagedVersion: Int64 = 0, nextVersion: Int64 = 1,
        pending: [PendingChangeset] = [], access: Access = .none
    ) {
        self.checkpoint = checkpoint
        self.received = received ?? checkpoint
        self.isStaging = isStaging
        self.isReplacing = isReplacing
        self.containedVersion = containedVersion
        self.stagedVersion = stagedVersion
        self.nextVersion = nextVersion
        self.pending = pending
        self.access = access
    }

    /// Whether the device has shown the partition's whole state once.
    public var isSynced: Bool { checkpoint.number > 0 || checkpoint.epoch > 0 }

    /// The operations that are applied on top of a document, in the order in which they were made, and when that was.
    public func overlay(_ key: DocumentKey) -> [(operation: Operation, clock: HybridTime)] {
        pending.lazy.filter { !$0.isContained }.flatMap { pending in
            pending.changeset.operations.filter { $0.key == key }.map { ($0, pending.changeset.clock) }
        }
    }

    /// The documents that the device has written and the server's state doesn't contain.
    public var overlaidKeys: Set<DocumentKey> {
        pending.lazy.filter { !$0.isContained }.reduce(into: []) { $0.formUnion($1.keys) }
    }
}

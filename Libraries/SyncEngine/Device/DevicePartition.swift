import DocumentModel

/// What a device knows about one partition and its own writes in it: the bookkeeping of sync on the device.
///
/// It doesn't hold the documents. Each call returns the `Effect`s that the local store has to perform, in the transaction in which
/// it saves the bookkeeping; so a device that is killed at any time continues from where it was.
///
/// - The app always sees the server's state with the changesets that it doesn't contain applied on top (`LocalView`).
/// - Received chunks of a catch-up are staged and become visible together, with the chunk that is final.
/// - A changeset stops being applied on top in the same step in which the server's state with it becomes visible, so that nothing
///   flickers and no `$inc` is applied twice.
public struct DevicePartition: Sendable {
    /// What the local store has to do.
    public enum Effect: Sendable {
        /// Discard the staged changes.
        case clearStaged
        /// Keep changes, invisible for now; a later change of a document replaces an earlier one.
        case stage([DocumentChange])
        /// Make the staged changes visible, and recompute the view of each document that they change. When `replacing`, documents
        /// that aren't staged are removed.
        case publishStaged(replacing: Bool)
        /// Make changes visible.
        case apply([DocumentChange])
        /// Recompute the view of these documents.
        case rebase(Set<DocumentKey>)
        /// Report writes that had no effect to the app.
        case report(version: Int64, lost: [LostWrite])
        /// Add to the list of rejected changesets, and notify the app.
        case reject(Changeset, OperationRejection)
        /// Keep an acknowledged changeset that the state contains, to upload it again if a restore makes the server lose it.
        case retain(Changeset)
        /// Delete the kept changesets after a version.
        case forgetRetained(after: Int64)
        /// Remove every document of the partition, and the kept changesets.
        case wipe
    }

    /// What is wrong with a download.
    public enum Fault: Error, Hashable, Sendable {
        /// Changes are missing between what the device has and what it received: subscribe again.
        case gap
    }

    /// The revision up to which the device shows the partition. Number 0 means that it shows nothing yet.
    public internal(set) var checkpoint: Revision
    /// The revision up to which the device has received the partition, staged chunks included: where the next chunk begins.
    public internal(set) var received: Revision
    /// What the last staged chunk carried for `subscribe`; `nil` when nothing is staged.
    public internal(set) var resumeToken: String?
    /// Whether chunks are staged.
    public internal(set) var isStaging: Bool
    /// Whether the staged chunks replace the whole visible state.
    public internal(set) var isReplacing: Bool
    /// The last version of this device that the visible state contains.
    public internal(set) var containedVersion: Int64
    /// The last version of this device that the staged state contains.
    public internal(set) var stagedVersion: Int64
    /// The version that the next changeset takes.
    public internal(set) var nextVersion: Int64
    /// The device's own changesets that the server's state doesn't contain, or that the server hasn't answered; in order.
    public internal(set) var pending: PendingQueue
    /// The user's access, as the gateway last reported it.
    public internal(set) var access: Access
    /// Whether the gateway has answered a `subscribe` on the current connection.
    public internal(set) var isSubscribed = false
    /// The last version that the server had when it answered `subscribe`: it may already have the changesets up to this version.
    public internal(set) var serverVersion: Int64 = 0
    /// Whether the server has different changesets under this device's versions: the device was restored from a backup or cloned,
    /// and takes a new id as soon as `isReadyToFork`.
    public internal(set) var isForked = false
    /// Whether the server no longer accepts anything new under this id, as it has reported on the current connection.
    var isClosed = false
    /// Whether the server reported missing versions, and has answered no changeset since.
    var hasMetGap = false

    /// The bookkeeping of a partition as it was saved; the defaults are those of one that was never opened.
    public init(
        checkpoint: Revision = Revision(epoch: 0, number: 0), received: Revision? = nil, resumeToken: String? = nil,
        isStaging: Bool = false, isReplacing: Bool = false, containedVersion: Int64 = 0, stagedVersion: Int64 = 0,
        nextVersion: Int64 = 1,
        pending: [PendingChangeset] = [], access: Access = .none
    ) {
        self.checkpoint = checkpoint
        self.received = received ?? checkpoint
        self.resumeToken = resumeToken
        self.isStaging = isStaging
        self.isReplacing = isReplacing
        self.containedVersion = containedVersion
        self.stagedVersion = stagedVersion
        self.nextVersion = nextVersion
        self.pending = PendingQueue(pending)
        self.access = access
    }

    /// Whether the device has shown the partition's whole state at least once.
    public var isSynced: Bool { checkpoint.number > 0 || checkpoint.epoch > 0 }

    /// The operations that are applied on top of a document, in the order in which they were made, each with its time.
    public func overlay(_ key: DocumentKey) -> [(operation: Operation, clock: HybridTime)] {
        pending.operations(on: key) { !$0.isContained }
    }

    /// The documents that the device has written and the server's state doesn't contain.
    public var overlaidKeys: Set<DocumentKey> {
        pending.lazy.filter { !$0.isContained }.reduce(into: []) { $0.formUnion($1.keys) }
    }
}

import DocumentModel

/// Which revisions of former epochs are still part of the partition's history.
///
/// A restore from a backup loses the end of an epoch; the next one continues the numbers from where the backup ended.
public struct EpochHistory: Hashable, Sendable {
    /// The present epoch.
    public var current: Int32
    /// For each former epoch, the last number in the partition that its successor took over. Epochs that aren't listed never
    /// existed: the numbers of epochs have gaps, so that two restores of one backup don't begin the same one.
    public var lastKept: [Int32: Int64]

    /// The partition's deletions up to this revision have left no tombstone any more.
    public var tombstoneHorizon: Revision

    public init(
        current: Int32, lastKept: [Int32: Int64] = [:], tombstoneHorizon: Revision = EpochHistory.beginning
    ) {
        self.current = current
        self.lastKept = lastKept
        self.tombstoneHorizon = tombstoneHorizon
    }

    /// The position before every revision of every epoch. A document that wasn't written since a restore has a revision of a former
    /// epoch, and belongs to the state like any other.
    public static let beginning = Revision(epoch: 0, number: 0)

    /// Where the service of a device begins: at its checkpoint, or at the ``beginning`` when the checkpoint isn't part of
    /// the history, has number 0, which means "nothing" in every epoch, or is older than the tombstones: the device would keep what
    /// was deleted since. A catch-up that begins at number 0 replaces all that the device has of the partition; its own writes stay.
    ///
    /// A device whose catch-up was cut continues it, as long as the epoch is the one in which it was read.
    ///
    /// - Parameters:
    ///   - checkpoint: The revision up to which the device shows the partition.
    ///   - token: What the last chunk carried that the device has staged; `nil` when it has none.
    ///   - head: The partition's head.
    public func resumePoint(for checkpoint: Revision, resuming token: ResumeToken? = nil, head: Revision) -> ResumePoint
    {
        if let token, token.epoch == current, token.revision.number > 0, max(token.revision, token.horizon) <= head {
            let staged = ResumePoint(revision: token.revision, horizon: token.horizon)
            if staged.isComplete(after: token.revision, dropped: tombstoneHorizon) { return staged }
        }
        let isKnown: Bool
        if checkpoint.number <= 0 {
            isKnown = false
        } else if checkpoint.epoch == current {
            isKnown = checkpoint <= head
        } else if checkpoint.epoch < current, lastKept[checkpoint.epoch] != nil {
            // Every later restore must have kept it too.
            isKnown = lastKept.allSatisfy { $0.key < checkpoint.epoch || checkpoint.number <= $0.value }
        } else {
            isKnown = false
        }
        let shown = ResumePoint(revision: checkpoint)
        if isKnown, shown.isComplete(after: checkpoint, dropped: tombstoneHorizon) { return shown }
        // A device that is served from the start has nothing that was deleted before.
        return ResumePoint(revision: Self.beginning, horizon: head)
    }
}

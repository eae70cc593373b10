import DocumentModel

/// Where the service of a device begins.
public struct ResumePoint: Hashable, Sendable {
    /// The revision from which the device has to be served; of number 0 for the whole state.
    public var revision: Revision
    /// Tombstones up to this revision aren't needed, although they may be after `revision`: the device had nothing when they were made.
    public var horizon: Revision

    public init(revision: Revision, horizon: Revision = EpochHistory.beginning) {
        self.revision = revision
        self.horizon = horizon
    }

    /// Whether a read after a revision has every deletion that the device needs to know of.
    ///
    /// - Parameters:
    ///   - revision: What the read started after.
    ///   - dropped: The partition's deletions up to here had no tombstone at the time of the read.
    public func isComplete(after revision: Revision, dropped: Revision) -> Bool { dropped <= max(revision, horizon) }
}

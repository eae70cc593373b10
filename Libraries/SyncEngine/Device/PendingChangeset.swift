import DocumentModel

/// A changeset of this device, from its creation until the device's copy of the server's state contains it.
public struct PendingChangeset: Sendable {
    /// How far its upload has come.
    public enum State: Hashable, Sendable {
        /// To be uploaded, or to be uploaded again because no answer came.
        case waiting
        /// Uploaded on the present connection.
        case sent
        /// The server has a different changeset under its version: it waits for the device's new id.
        case foreign
        /// Committed; the partition was at this revision then.
        case acknowledged(Revision)
    }

    /// The operations, with version and clock.
    public var changeset: Changeset
    /// How far its upload has come.
    public var state: State
    /// Whether the visible server state already contains it, so that it isn't applied on top of it again.
    public var isContained: Bool
    /// Whether it may be uploaded again when the server lost it; false after the device took a new id.
    public var isReofferable: Bool
    /// How many connections ended, since the device was started, between its upload and its answer.
    public var lossCount = 0

    public init(
        changeset: Changeset, state: State = .waiting, isContained: Bool = false, isReofferable: Bool = true
    ) {
        self.changeset = changeset
        self.state = state
        self.isContained = isContained
        self.isReofferable = isReofferable
    }

    /// The documents that it writes.
    public var keys: Set<DocumentKey> { Set(changeset.operations.compactMap(\.key)) }

    /// Whether it may crash the gateway: at least two connections were lost while it was unanswered.
    public var isSuspect: Bool { lossCount >= 2 && isUnresolved }

    /// Whether the server hasn't answered it yet.
    public var isUnresolved: Bool { if case .acknowledged = state { false } else { true } }
}

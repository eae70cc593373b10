import DocumentModel

/// A changeset of this device, from its making until the server's state that the device has contains it.
public struct PendingChangeset: Sendable {
    /// What is known of its way to the server.
    public enum State: Hashable, Sendable {
        /// To be uploaded, or to be uploaded again because no answer came.
        case waiting
        /// Uploaded on the present connection.
        case sent
        /// The server has another's changeset under its version: it waits for the device's new id.
        case foreign
        /// Committed; the partition was at this revision then.
        case acknowledged(Revision)
    }

    /// The operations, with version and clock.
    public var changeset: Changeset
    /// What is known of its way to the server.
    public var state: State
    /// Whether the server's state that the device shows has it already, so that it isn't applied on top of it again.
    public var isContained: Bool
    /// Whether it may be offered again when the server forgot it; not after the device took a new id.
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

    /// The documents that it is about.
    public var keys: Set<DocumentKey> { Set(changeset.operations.compactMap(\.key)) }

    /// Whether it may be what ends the gateway: two connections were lost over it.
    public var isSuspect: Bool { lossCount >= 2 && isUnresolved }

    /// Whether the server's answer is still due.
    public var isUnresolved: Bool { if case .acknowledged = state { false } else { true } }
}

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
    /// Where the changeset's operations on a document stand, which stays so: a device may have thousands of changesets that wait.
    private let places: [DocumentKey: [Int]]
    /// A bit for each document among them, by its hash: most changesets are told from those of a document without looking at names.
    private let mask: UInt64
    /// How many connections ended, since the device was started, between its upload and its answer.
    public var lossCount = 0

    public init(
        changeset: Changeset, state: State = .waiting, isContained: Bool = false, isReofferable: Bool = true
    ) {
        self.changeset = changeset
        self.state = state
        self.isContained = isContained
        self.isReofferable = isReofferable
        var places: [DocumentKey: [Int]] = [:]
        for (place, operation) in changeset.operations.enumerated() {
            if let key = operation.key { places[key, default: []].append(place) }
        }
        self.places = places
        mask = places.keys.reduce(0) { $0 | Self.bit(of: $1) }
    }

    /// The bit of a document, for ``mayWrite(_:)`` and that of a `PendingPart`.
    static func bit(of key: DocumentKey) -> UInt64 { 1 << UInt64(key.hashValue & 63) }

    /// Whether it may have an operation on the document of a bit.
    func mayWrite(_ bit: UInt64) -> Bool { mask & bit != 0 }

    /// The operations on a document, in order.
    func operations(on key: DocumentKey) -> [Operation] { (places[key] ?? []).map { changeset.operations[$0] } }

    /// The documents that it writes.
    public var keys: Set<DocumentKey> { Set(places.keys) }

    /// Whether it may crash the gateway: at least two connections were lost while it was unanswered.
    public var isSuspect: Bool { lossCount >= 2 && isUnresolved }

    /// Whether the server hasn't answered it yet.
    public var isUnresolved: Bool { if case .acknowledged = state { false } else { true } }
}

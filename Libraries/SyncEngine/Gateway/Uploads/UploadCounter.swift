import DocumentModel

/// How far a device's uploads to a partition have come.
public struct UploadCounter: Sendable {
    /// Names a counter: a device of a user, in a partition.
    public struct Key: Hashable, Sendable {
        public let user: ExactText
        public let device: ExactText
        public let partition: ExactText

        public init(user: String, device: String, partition: String) {
            self.user = ExactText(user)
            self.device = ExactText(device)
            self.partition = ExactText(partition)
        }
    }

    /// What is kept of a recent changeset.
    public struct Entry: Sendable {
        /// `Changeset.digest`.
        public var digest: UInt64
        /// The revision that the ack names.
        public var revision: Revision

        public init(digest: UInt64, revision: Revision) {
            self.digest = digest
            self.revision = revision
        }
    }

    /// What a changeset is to a counter.
    enum Place {
        /// The next one, which is to be decided.
        case next
        /// One that was decided, and is sent again.
        case again(Entry)
        /// Another one than was decided under its version: the device was restored or cloned.
        case foreign
        /// Decided so long ago that nobody can tell whether it is the same.
        case forgotten
        /// Versions before it are missing.
        case early(expected: Int64)
    }

    /// How many entries are kept: as many as a device may have unanswered.
    public static let kept = DevicePartition.uploadWindow

    /// The version of the last changeset that was decided; 0 before the first.
    public private(set) var lastVersion: Int64
    /// What was read, newest last; the last is that of `lastVersion`.
    public let recent: [Entry]
    /// What this transaction adds, with revisions that are provisional where it took some.
    public private(set) var added: [Entry] = []
    /// Whether it was stored before.
    public let exists: Bool
    /// Whether another one has used its versions: the device takes a new id, and nothing that is still on its way under this one counts.
    public private(set) var isClosed: Bool
    /// As it was stored.
    private let wasClosed: Bool

    /// Of a device that has uploaded nothing to the partition.
    public init() {
        exists = false
        isClosed = false
        wasClosed = false
        lastVersion = 0
        recent = []
    }

    /// As it was stored.
    public init(lastVersion: Int64, recent: [Entry], isClosed: Bool) {
        exists = true
        self.isClosed = isClosed
        wasClosed = isClosed
        self.lastVersion = lastVersion
        self.recent = recent
    }

    /// The stored entries that stay beside those that are added.
    public var staying: ArraySlice<Entry> { recent.suffix(max(Self.kept - added.count, 0)) }

    /// Whether it is to be stored.
    public var hasChanged: Bool { !added.isEmpty || isClosed != wasClosed }

    func place(of version: Int64, digest: UInt64) -> Place {
        if version > lastVersion {
            if isClosed { return .foreign }
            return version == lastVersion + 1 ? .next : .early(expected: lastVersion + 1)
        }
        guard let entry = entry(of: version) else { return .forgotten }
        return entry.digest == digest ? .again(entry) : .foreign
    }

    /// The entry of a version that is known; `nil` for one that is too old.
    private func entry(of version: Int64) -> Entry? {
        let all = recent + added
        let index = Int64(all.count) - 1 - (lastVersion - version)
        return index >= 0 && index < all.count ? all[Int(index)] : nil
    }

    /// From now on nothing new counts.
    mutating func close() { isClosed = true }

    mutating func add(_ entry: Entry) {
        lastVersion += 1
        added.append(entry)
    }
}

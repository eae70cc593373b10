import DocumentModel

/// The progress of a device's uploads to a partition.
public struct UploadCounter: Sendable {
    /// Identifies a counter: a device of a user, in a partition.
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

    /// How a changeset relates to a counter.
    enum Place {
        /// The next one, which is to be decided.
        case next
        /// One that was decided, and is sent again.
        case again(Entry)
        /// The next one by its number, but it was decided under an earlier one: a copy of the device has numbered it differently.
        case renumbered(Entry)
        /// Not the one that was decided under its version: the device was restored or cloned.
        case foreign
        /// Decided so long ago that its digest isn't kept: it can't be determined whether it is the same.
        case forgotten
        /// Versions before it are missing.
        case early(expected: Int64)
    }

    /// How many entries are kept: as many as a device may have unanswered.
    public static let kept = DevicePartition.uploadWindow

    /// The version of the last changeset that was decided; 0 before the first.
    public private(set) var lastVersion: Int64
    /// The stored entries, newest last; the last is that of `lastVersion`.
    public let recent: [Entry]
    /// The entries that this transaction adds; their revisions are provisional for changesets that took some.
    public private(set) var added: [Entry] = []
    /// The version of the app's schema with which the last of these was made; `nil` while there are none.
    public private(set) var schemaVersion: Int64?
    /// Whether the counter has a stored row.
    public let exists: Bool
    /// Whether another device has used its versions: the device takes a new id, and changesets still in flight under this one are
    /// not accepted.
    public private(set) var isClosed: Bool
    /// `isClosed` as it was stored.
    private let wasClosed: Bool

    /// The counter of a device that has uploaded nothing to the partition.
    public init() {
        exists = false
        isClosed = false
        wasClosed = false
        lastVersion = 0
        recent = []
    }

    /// A counter as it was stored.
    public init(lastVersion: Int64, recent: [Entry], isClosed: Bool) {
        exists = true
        self.isClosed = isClosed
        wasClosed = isClosed
        self.lastVersion = lastVersion
        self.recent = recent
    }

    /// The stored entries that are kept in addition to the added ones.
    public var staying: ArraySlice<Entry> { recent.suffix(max(Self.kept - added.count, 0)) }

    /// Whether it has to be stored.
    public var hasChanged: Bool { !added.isEmpty || isClosed != wasClosed }

    func place(of upload: Upload) -> Place {
        let version = upload.changeset.version
        // A copy of the device may have uploaded it under another number, since devices number what the server doesn't have from its
        // last version on. Without an id it may just look like another one.
        if upload.changeset.id != nil, let earlier = versionOf(upload.digest), let entry = entry(of: earlier) {
            return version == lastVersion + 1 && !isClosed ? .renumbered(entry) : .again(entry)
        }
        if version > lastVersion {
            if isClosed { return .foreign }
            return version == lastVersion + 1 ? .next : .early(expected: lastVersion + 1)
        }
        guard let entry = entry(of: version) else { return .forgotten }
        return entry.digest == upload.digest ? .again(entry) : .foreign
    }

    /// The entry of a version that is known; `nil` for one that is too old.
    private func entry(of version: Int64) -> Entry? {
        let all = recent + added
        let index = Int64(all.count) - 1 - (lastVersion - version)
        return index >= 0 && index < all.count ? all[Int(index)] : nil
    }

    /// The version under which a changeset was decided, if that is known.
    private func versionOf(_ digest: UInt64) -> Int64? {
        if let index = added.lastIndex(where: { $0.digest == digest }) {
            return lastVersion - Int64(added.count - 1 - index)
        }
        let index = recent.lastIndex { $0.digest == digest }
        return index.map { lastVersion - Int64(added.count + recent.count - 1 - $0) }
    }

    /// The version under which an upload may have been decided before: its own, or that which a copy of the device has given it.
    func knownVersion(of upload: Upload) -> Int64? {
        let version = upload.changeset.version
        if upload.changeset.id != nil, let earlier = versionOf(upload.digest) { return earlier }
        return version <= lastVersion ? version : nil
    }

    /// Accepts no new changesets from now on.
    mutating func close() { isClosed = true }

    mutating func add(_ entry: Entry, schemaVersion: Int64) {
        lastVersion += 1
        added.append(entry)
        self.schemaVersion = schemaVersion
    }
}

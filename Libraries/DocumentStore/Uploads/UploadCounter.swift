import DocumentModel
import SyncEngine

/// How far a device's uploads to a partition have come: a row of `partita.uploads`.
struct UploadCounter: Sendable {
    struct Key: Hashable, Sendable {
        let user: ExactText
        let device: ExactText
        let partition: ExactText

        init(user: String, device: String, partition: String) {
            self.user = ExactText(user)
            self.device = ExactText(device)
            self.partition = ExactText(partition)
        }
    }

    /// What is kept of a recent changeset.
    struct Entry: Sendable {
        static let size = 20
        var digest: UInt64
        /// The revision that the ack names.
        var revision: Revision
    }

    /// How many are kept: as many as a device may have unanswered. An older version that is sent again is refused, since nobody
    /// knows any more whether it is the same changeset.
    static let kept = DevicePartition.uploadWindow

    var lastVersion: Int64 = 0
    /// Newest last; the last is that of `lastVersion`.
    var recent: [Entry] = []
    /// What this transaction adds, with revisions that are provisional where it took some.
    var added: [Entry] = []
    let exists: Bool

    init() { exists = false }

    init(lastVersion: Int64, recent bytes: [UInt8]) {
        exists = true
        self.lastVersion = lastVersion
        for start in stride(from: 0, to: bytes.count - bytes.count % Entry.size, by: Entry.size) {
            func number(_ range: Range<Int>) -> UInt64 {
                bytes[(start + range.lowerBound)..<(start + range.upperBound)].reduce(0) { $0 << 8 | UInt64($1) }
            }
            recent.append(
                Entry(
                    digest: number(0..<8),
                    revision: Revision(
                        epoch: Int32(truncatingIfNeeded: number(8..<12)),
                        number: Int64(truncatingIfNeeded: number(12..<20)))))
        }
    }

    /// The entry of a version that is known; `nil` for one that is too old.
    func entry(of version: Int64) -> Entry? {
        let all = recent + added
        let index = Int64(all.count) - 1 - (lastVersion - version)
        return index >= 0 && index < all.count ? all[Int(index)] : nil
    }

    mutating func add(_ entry: Entry) {
        lastVersion += 1
        added.append(entry)
    }

    /// The bytes of the entries that stay beside the added ones.
    var keptBytes: [UInt8] {
        var bytes: [UInt8] = []
        for entry in recent.suffix(max(Self.kept - added.count, 0)) {
            bytes.appendBigEndian(entry.digest)
            bytes.appendBigEndian(entry.revision.epoch)
            bytes.appendBigEndian(entry.revision.number)
        }
        return bytes
    }
}

extension [UInt8] {
    mutating func appendBigEndian(_ number: some FixedWidthInteger) {
        Swift.withUnsafeBytes(of: number.bigEndian) { append(contentsOf: $0) }
    }
}

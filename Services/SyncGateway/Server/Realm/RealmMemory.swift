import DocumentModel
import RealmSync
import SyncEngine

/// What a gateway remembers of a history, so that it needn't read that for each upload: client files, and the objects that were used last.
///
/// It may be out of date when another gateway has changed the history. The transaction of an upload finds that by the history's version.
struct RealmMemory: Sendable {
    private var files: [Int64: RealmTables.File] = [:]
    private var objects: [ObjectKey: Document?] = [:]
    /// What the objects take, about; those that were replaced count as well.
    private var bytes = 0
    /// The version of the history at which the objects are so.
    private var version: Int64 = 0

    /// Many histories are open at a time.
    private static let maximumBytes = 64 << 10
    private static let maximumFiles = 1000

    func file(_ number: Int64) -> RealmTables.File? { files[number] }

    mutating func keep(_ file: RealmTables.File) {
        if files.count >= Self.maximumFiles { files = [:] }
        files[file.number] = file
    }

    /// The objects that are known at a version; the value `nil` is known not to exist.
    func objects(_ keys: Set<ObjectKey>, at version: Int64) -> [ObjectKey: Document?] {
        version == self.version ? objects.filter { keys.contains($0.key) } : [:]
    }

    /// Takes objects as they are at a version.
    mutating func keep(_ new: [ObjectKey: Document?], at version: Int64) {
        let size = new.reduce(0) {
            $0 + $1.key.place.utf8.count + ($1.value?.memory ?? 0) + SyncEngine.Changeset.valueBytes
        }
        if version != self.version || bytes + size > Self.maximumBytes { (objects, bytes) = ([:], 0) }
        self.version = version
        // Large objects, or many, are hardly needed again.
        if size > Self.maximumBytes { return }
        objects.merge(new) { $1 }
        bytes += size
    }

    /// Takes what a transaction has changed.
    mutating func advance(_ changes: [ObjectKey: Document?], from former: Int64, to version: Int64) {
        if former != self.version { (objects, bytes) = ([:], 0) }
        self.version = version
        keep(changes, at: version)
    }

    mutating func forget() { self = RealmMemory() }
}

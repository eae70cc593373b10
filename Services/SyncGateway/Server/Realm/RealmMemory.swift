import DocumentModel
import RealmSync

/// What a gateway remembers of a history, so that it needn't read that for each upload: client files, and the objects that were used last.
///
/// It may be out of date when another gateway has changed the history. The transaction of an upload finds that by the history's version.
struct RealmMemory: Sendable {
    private var files: [Int64: RealmTables.File] = [:]
    private var objects: [ObjectKey: Document?] = [:]
    /// The version of the history at which the objects are so.
    private var version: Int64 = 0

    private static let maximumObjects = 1000
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
        if version != self.version || objects.count + new.count > Self.maximumObjects { objects = [:] }
        self.version = version
        // Many objects at once are those of a large upload, and hardly needed again.
        if new.count <= Self.maximumObjects { objects.merge(new) { $1 } }
    }

    /// Takes what a transaction has changed.
    mutating func advance(_ changes: [ObjectKey: Document?], from former: Int64, to version: Int64) {
        if former != self.version { objects = [:] }
        self.version = version
        keep(changes, at: version)
    }

    mutating func forget() { self = RealmMemory() }
}

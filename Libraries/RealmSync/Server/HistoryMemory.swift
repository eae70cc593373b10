package import DocumentModel

/// What a gateway remembers of a history, so that it needn't read that for each upload: client files, and the objects that were used last.
///
/// It may be out of date when another gateway has changed the history. The transaction of an upload finds that by the history's version.
package struct HistoryMemory: Sendable {
    private var files: [Int64: ClientFile] = [:]
    private var forms: [Int64: EntryForms] = [:]
    private var objects: [ObjectKey: Document?] = [:]
    /// What the objects take, about; those that were replaced count as well.
    private var bytes = 0
    /// The secret of the history's version at which the objects are so.
    private var salt: Int64 = 0

    /// Many histories are open at a time.
    private static let maximumBytes = 64 << 10
    private static let maximumFiles = 1000
    private static let maximumFormBytes = 4 << 10

    package func file(_ number: Int64) -> ClientFile? { files[number] }

    package mutating func keep(_ file: ClientFile) {
        if files.count >= Self.maximumFiles { (files, forms) = ([:], [:]) }
        files[file.number] = file
    }

    /// The forms in which a client has entries after a version; `nil` if they aren't known.
    package func forms(
        of entries: [HistoryEntry], after version: Int64, for file: ClientFile
    ) -> [UInt64: [UInt8]]? {
        // Its own entries have no other form.
        if entries.allSatisfy({ $0.file == file.number }) { return [:] }
        return forms[file.number]?.forms(of: entries, after: version, for: file)
    }

    /// Takes the forms in which a client has entries.
    package mutating func keep(_ new: EntryForms, of file: ClientFile) {
        forms[file.number] = new.bytes <= Self.maximumFormBytes && files[file.number] != nil ? new : nil
    }

    /// The objects that are known at the version with a secret; the value `nil` is known not to exist.
    package func objects(_ keys: Set<ObjectKey>, at salt: Int64) -> [ObjectKey: Document?] {
        salt == self.salt ? objects.filter { keys.contains($0.key) } : [:]
    }

    /// Takes objects as they are at the version with a secret.
    package mutating func keep(_ new: [ObjectKey: Document?], at salt: Int64) {
        let size = new.reduce(0) { $0 + Value.memoryBytes + $1.key.place.utf8.count + ($1.value?.memory ?? 0) }
        if salt != self.salt || bytes + size > Self.maximumBytes { (objects, bytes) = ([:], 0) }
        self.salt = salt
        // Large objects, or many, are hardly needed again.
        if size > Self.maximumBytes { return }
        objects.merge(new) { $1 }
        bytes += size
    }

    /// Takes what a transaction has changed.
    package mutating func advance(_ changes: [ObjectKey: Document?], from former: Int64, to salt: Int64) {
        if former != self.salt { (objects, bytes) = ([:], 0) }
        self.salt = salt
        keep(changes, at: salt)
    }
}

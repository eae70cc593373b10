import DocumentModel
import RealmClientModel
import RealmSync

/// The rows of a partition in the database: its history with all that belongs to it, and its documents. A transaction is a call.
///
/// Documents are kept as the objects that they are.
struct SimulatedHistory: Sendable {
    enum CommitError: Error { case lostRace, forbidden, duplicate }

    private(set) var standing: HistoryStanding
    private(set) var entries: [HistoryEntry]
    private(set) var files: [Int64: ClientFile] = [:]
    private(set) var reciprocals: [Int64: [UInt64: [UInt8]]] = [:]
    private(set) var objects: [ObjectKey: Document] = [:]
    private(set) var snapshots: [(snapshot: HistorySnapshot, parts: [HistoryEntry])] = []
    private(set) var documents: [ObjectKey: Document] = [:]
    private(set) var head = Revision(epoch: 1, number: 0)
    /// Which document each revision has changed.
    private var changes: [(revision: Revision, key: ObjectKey)] = []
    /// From which version on the history has the changes of documents up to a revision, ascending.
    private(set) var coverage: [(revision: Int64, version: Int64)] = []
    var mayWrite: [String: Bool] = [:]
    private var nextFile: Int64 = 2

    private(set) var schema: ObjectSchema

    init(_ app: SimulatedApp) {
        schema = app.schema
        let classes = HistoryEntry(schema.changeset(), version: 1, time: 0)
        entries = [classes]
        standing = HistoryStanding(
            version: 1, salt: classes.salt, base: 0, revision: head, schema: classes.bytes, appVersion: app.version,
            collections: app.names)
    }

    // MARK: Documents

    /// A document as the object that it is, with the partition's key.
    func object(_ key: ObjectKey, _ fields: Document) -> Document? {
        var document = fields
        document["_id"] = key.id.value
        document["_partition"] = "p"
        return try? schema.object(of: document, table: key.table).object
    }

    /// Somebody writes a document.
    mutating func write(_ key: ObjectKey, _ document: Document?) {
        documents[key] = document
        head = Revision(epoch: head.epoch, number: head.number + 1)
        changes.append((head, key))
    }

    /// The documents that have changed after a revision.
    private func changed(after revision: Revision) -> [ObjectKey] {
        changes.reversed().prefix { $0.revision > revision }.map(\.key)
    }

    /// Brings the history up to a version of the app.
    /// - Returns: what was appended; `nil` if it has that version.
    mutating func update(to app: SimulatedApp, at time: Int64) -> HistoryAddition? {
        if standing.appVersion == app.version { return nil }
        let update = HistoryUpdate(
            of: standing, with: schema, to: app.version, app.schema, collections: app.names, at: time)
        if update.addition.isReset {
            (entries, files, reciprocals, objects, snapshots) = ([], [:], [:], [:], [])
            begun = []
            schema = app.schema
        } else {
            schema = schema.joined(with: app.schema) ?? schema
        }
        apply(update.addition)
        standing = update.standing
        return update.addition
    }

    /// Appends what others have done to the documents of an app's collections.
    /// - Returns: what was appended; `nil` if nobody has done anything.
    mutating func absorb(_ app: SimulatedApp, at time: Int64) -> HistoryAddition? {
        if standing.revision == head { return nil }
        var next = standing, seen: Set<ObjectKey> = []
        next.revision = head
        let isWhole = standing.revision == HistoryStanding.empty.revision
        // All that there is is compared then.
        let all = isWhole ? (Array(documents.keys) + objects.keys).sorted { $0.place < $1.place } : []
        let keys = (isWhole ? all : changed(after: standing.revision)).filter { seen.insert($0).inserted }
        let known = PartitionObjects(
            schema: schema,
            objects: Dictionary(uniqueKeysWithValues: keys.compactMap { key in objects[key].map { (key, $0) } }))
        let changes = keys.compactMap { key -> (key: ObjectKey, object: Document?)? in
            if app.classes.contains(key.table) { return (key, documents[key]) }
            return isWhole ? (key, nil) : nil
        }
        let addition = HistoryAddition(absorbing: changes, into: known, next, at: time)
        apply(addition)
        if let absorbed = addition.absorbed { standing = absorbed }
        cover()
        return addition
    }

    private mutating func cover() {
        if let last = coverage.last, last.revision >= standing.revision.number { return }
        coverage.append((standing.revision.number, standing.version))
    }

    /// The version that a client has when it has all that there is; `nil` if no version has it yet.
    func version(covering revision: Int64) -> Int64? {
        revision == 0 ? 1 : coverage.first { $0.revision >= revision }?.version
    }

    private mutating func apply(_ addition: HistoryAddition) {
        entries += addition.entries
        for (key, object) in addition.objects { objects[key] = object }
    }

    // MARK: Uploads

    /// Commits what uploads add, with the writes of documents that follow from it.
    /// - Returns: the revision up to which the history has the changes of documents then.
    mutating func commit(
        _ addition: HistoryAddition, _ former: HistoryStanding,
        writing documents: [(key: ObjectKey, isInsert: Bool, object: Document?)]
    ) throws(CommitError) -> Revision {
        guard standing.version == former.version, standing.appVersion == former.appVersion,
            standing.salt == former.salt,
            addition.files.allSatisfy({ change in
                files[change.file.number].map {
                    $0.clientVersion == change.formerClientVersion && $0.salt == change.file.salt
                } ?? false
            })
        else { throw .lostRace }
        if let writes = addition.writes {
            guard writes.users.allSatisfy({ mayWrite[$0] == true }) else { throw .forbidden }
            let ids = Set(zip(writes.collections, writes.ids).map { "\($0) \($1)" })
            guard changed(after: writes.since).allSatisfy({ !ids.contains($0.place) }) else { throw .lostRace }
        }
        guard !documents.contains(where: { $0.isInsert && self.documents[$0.key] != nil }) else { throw .duplicate }
        let isAlone = addition.writes.map { $0.since == head } ?? false
        apply(addition)
        if let last = addition.entries.last { (standing.version, standing.salt) = (last.version, last.salt) }
        for change in addition.files {
            guard var file = files[change.file.number] else { continue }
            (file.clientVersion, file.uploadBase) = (change.file.clientVersion, change.file.uploadBase)
            (file.uploaded, file.acknowledged) = (change.file.uploaded, change.file.acknowledged)
            files[file.number] = file
            reciprocals[file.number, default: [:]].merge(change.reciprocals) { $1 }
        }
        for (key, _, document) in documents { write(key, document.flatMap { object(key, $0) }) }
        if isAlone { standing.revision = head }
        cover()
        return standing.revision
    }

    // MARK: Client files

    mutating func makeFile(of user: String) -> ClientFile {
        defer { nextFile += 1 }
        let file = ClientFile(number: nextFile, salt: HistoryEntry.salt(), user: user)
        files[file.number] = file
        return file
    }

    /// Notes with what a client begins, if it hasn't begun.
    mutating func begin(_ number: Int64) {
        guard var file = files[number], !begun.contains(number) else { return }
        begun.insert(number)
        if let newest = snapshots.last(where: { $0.snapshot.version >= standing.base })?.snapshot {
            file.begun = newest.version
            file.snapshot = newest
        } else {
            file.base = max(file.base, standing.base)
        }
        files[number] = file
    }

    private var begun: Set<Int64> = []

    /// A client file; its snapshot is gone when it was trimmed.
    func file(_ number: Int64) -> ClientFile? {
        guard var file = files[number] else { return nil }
        if let snapshot = file.snapshot, !snapshots.contains(where: { $0.snapshot.version == snapshot.version }) {
            file.snapshot = nil
        }
        return file
    }

    mutating func note(_ version: Int64, of file: ClientFile) {
        guard files[file.number]?.salt == file.salt else { return }
        files[file.number]?.reach(version)
        reciprocals[file.number] = reciprocals[file.number]?.filter { $0.key > UInt64(version) }
    }

    mutating func forgetFile(_ number: Int64) {
        files[number] = nil
        reciprocals[number] = nil
        begun.remove(number)
    }

    // MARK: Reading

    /// The entries after a version that are there, as a client's file has them.
    func entries(after version: Int64, for file: ClientFile) -> HistoryPart {
        guard let snapshot = file.snapshot, version < snapshot.version,
            let parts = snapshots.first(where: { $0.snapshot.version == snapshot.version })?.parts
        else { return entries(after: version) }
        return HistoryPart(
            after: parts.first { $0.version == version }?.salt,
            parts.filter { $0.version > version } + entries(after: snapshot.version).entries)
    }

    /// Where a part that is read at once ends: it has entries of the snapshot, or of the history.
    func part(after version: Int64, for file: ClientFile, limit: Int) -> HistoryPart {
        var part = entries(after: version, for: file)
        if let snapshot = file.snapshot, version < snapshot.version {
            part.entries.removeAll { $0.version > snapshot.version }
        }
        part.entries = Array(part.entries.prefix(limit))
        return part
    }

    func entries(after version: Int64) -> HistoryPart {
        HistoryPart(
            after: entries.first { $0.version == version }?.salt, entries.filter { $0.version > version })
    }

    func salts(of versions: [Int64], for file: ClientFile) -> [Int64: Int64] {
        let known = versions.compactMap { version in salt(of: version, for: file).map { (version, $0) } }
        return Dictionary(known) { first, _ in first }
    }

    /// What is acknowledged with a client's newest changeset up to a version.
    func acknowledged(of file: Int64, at version: Int64) -> Int64? {
        entries.last { $0.version <= version && $0.file == file }.map { max($0.clientVersion, $0.acknowledges) }
    }

    private func salt(of version: Int64, for file: ClientFile) -> Int64? {
        if let snapshot = file.snapshot, version <= snapshot.version {
            return snapshots.first { $0.snapshot.version == snapshot.version }?.parts.first { $0.version == version }?
                .salt
        }
        return entries.first { $0.version == version }?.salt
    }

    // MARK: Snapshots

    /// Makes a snapshot of what there is.
    mutating func makeSnapshot() {
        guard standing.version > 1, snapshots.last?.snapshot.version != standing.version else { return }
        var made = PartitionObjects(schema: schema)
        let all = objects.sorted { $0.key.place < $1.key.place }.map { ($0.key, Optional($0.value)) }
        let changesets = [schema.changeset()] + (all.isEmpty ? [] : [made.change(all)])
        let time = entries.map(\.originTime).max() ?? 0
        let snapshot = HistorySnapshot(version: standing.version, parts: Int64(changesets.count), originTime: time)
        var parts = changesets.enumerated().map { place, changeset in
            HistoryEntry(changeset, version: snapshot.beginning + 1 + Int64(place), time: time)
        }
        if let salt = entries.last(where: { $0.version == standing.version })?.salt {
            parts[parts.count - 1].salt = salt
        }
        snapshots.append((snapshot, parts))
    }

    /// Removes what no client needs.
    mutating func trim() {
        guard let newest = snapshots.last?.snapshot.version else { return }
        let needed = files.values.filter { begun.contains($0.number) }.map { max($0.base, $0.uploadBase, $0.begun) }
        standing.base = max(standing.base, min(newest, needed.min() ?? newest))
        let base = standing.base, files = files
        snapshots.removeAll { made in
            made.snapshot.version < newest
                && !files.values.contains {
                    $0.begun == made.snapshot.version && max($0.base, $0.uploadBase) < made.snapshot.version
                }
        }
        entries.removeAll { $0.version < base }
    }

    // MARK: The end

    /// Goes back to a backup, as another epoch.
    mutating func restore(_ backup: SimulatedHistory) {
        let epoch = head.epoch + 1, mayWrite = mayWrite
        self = backup
        self.mayWrite = mayWrite
        head = Revision(epoch: epoch, number: head.number)
    }
}

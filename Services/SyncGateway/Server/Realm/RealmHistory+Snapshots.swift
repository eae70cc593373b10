import DocumentModel
import EventLoop
import Logging
import Postgres
import RealmSync

extension RealmHistory {
    /// The entries after a version as a client file has them, or the first of them.
    func entries(after version: Int64, for file: ClientFile) async throws -> HistoryPart {
        if let snapshot = file.snapshot, version < snapshot.version {
            return try await tables.parts(
                of: snapshot, in: key, after: version, bytes: Self.downloadBytes, for: file.number)
        }
        return try await entries(after: version, for: file.number)
    }

    /// The same, if they are in memory.
    func knownEntries(after version: Int64, for file: ClientFile) -> HistoryPart? {
        if let snapshot = file.snapshot, version < snapshot.version { return nil }
        return view.withLock { $0.tail.entries(after: version) }
    }

    /// All entries after a version as a client file has them.
    /// - Parameter end: What the history is.
    func allEntries(
        after version: Int64, upTo end: HistoryStanding, for file: ClientFile
    ) async throws -> HistoryPart {
        guard let snapshot = file.snapshot, version < snapshot.version else {
            if let known = knownEntries(after: version, upTo: end, for: file) { return known }
            return try await tables.entries(of: key, after: version)
        }
        var part = try await tables.parts(of: snapshot, in: key, after: version)
        part.entries += try await tables.entries(of: key, after: snapshot.version).entries
        return part
    }

    /// The same, if they are in memory.
    func knownEntries(after version: Int64, upTo end: HistoryStanding, for file: ClientFile) -> HistoryPart? {
        if let snapshot = file.snapshot, version < snapshot.version { return nil }
        return view.withLock { $0.tail.entries(after: version, upTo: end) }
    }

    /// A client file; `nil` if there is none of that number.
    func file(_ number: Int64) async throws -> ClientFile? {
        if let known = view.withLock({ $0.memory.file(number) }) { return known }
        let file = try await tables.file(number, of: key)
        if let file { view.withLock { $0.memory.keep(file) } }
        return file
    }

    /// The forms in which a client has entries after a version.
    func forms(
        of entries: [HistoryEntry], after version: Int64, for file: ClientFile
    ) async throws -> [UInt64: [UInt8]] {
        if let known = view.withLock({ $0.memory.forms(of: entries, after: version, for: file) }) { return known }
        let forms = try await tables.reciprocals(of: file.number, after: version, in: key)
        view.withLock { $0.memory.keep(EntryForms(of: file, after: version, forms, entries), of: file) }
        return forms
    }

    /// Notes up to which version a client has the history.
    func note(_ version: Int64, of file: ClientFile) async throws {
        try await tables.note(version, of: file, in: key)
        view.withLock { view in
            guard var file = view.memory.file(file.number) else { return }
            file.reach(version)
            view.memory.keep(file)
        }
    }

    /// Objects as they are at the version of the history with a secret.
    func objects(_ keys: Set<ObjectKey>, at salt: Int64) async throws -> [ObjectKey: Document] {
        var found = view.withLock { $0.memory.objects(keys, at: salt) }
        let missing = keys.filter { found[$0] == nil }
        if !missing.isEmpty {
            let read = try await statements.objects(missing, at: salt, of: key)
            let new = Dictionary(uniqueKeysWithValues: missing.map { ($0, read[$0]) })
            found.merge(new) { $1 }
            view.withLock { $0.memory.keep(new, at: salt) }
        }
        return found.compactMapValues(\.self)
    }

    /// How long a new client waits until a snapshot is made for it. It can begin with what there is: others' snapshots may take
    /// long.
    static let snapshotPatience = Duration.seconds(5)

    /// Makes a snapshot, if new clients would begin with much more than what there is. Those who call it at the same time share that.
    /// - Parameter time: How long it waits for its turn; then none is made. `nil` for no limit.
    func makeSnapshotIfWorthwhile(within time: Duration? = nil) async throws {
        guard try await tables.growth(of: key).isLarge else { return }
        do {
            try await snapshots.enter(ExactText(key.app), within: time, isCounted: false)
        } catch FairGate<ExactText>.Refusal.late {
            return
        }
        defer { snapshots.leave(ExactText(key.app)) }
        // Somebody may have made it meanwhile.
        guard try await tables.growth(of: key).isLarge else { return }
        do {
            try await withTaskExecutorPreference(globalConcurrentExecutor) { try await makeSnapshot() }
        } catch let error as PostgresError where error.isUniqueViolation {
            // Another gateway has made it.
        }
    }

    /// The bytes of objects for which a changeset is made, about.
    private static let partBytes: Int64 = 1 << 20

    /// Makes a snapshot.
    /// - Throws: a unique violation if there is one of the same version.
    func makeSnapshot() async throws {
        let begin = ContinuousClock.now
        let made = try await store.client.withTransaction(isolation: .repeatableRead) {
            transaction -> (snapshot: HistorySnapshot, bytes: Int)? in
            guard let source = try await tables.source(of: key, in: transaction), source.version > 0 else { return nil }
            let schema = try self.schema(source.schema)
            // There can't be more changesets than versions: that of the classes, full ones, and a last one.
            let partBytes = max(Self.partBytes, source.bytes / max(1, source.version - 1) + 1)
            var parts: Int64 = 1, total = source.schema.count
            try await tables.addPart(source.schema, parts, of: source.version, to: key, in: transaction)
            var waiting: [(key: ObjectKey, object: Document?)] = [], waitingBytes = 0, last: ObjectKey?
            func add() async throws {
                if waiting.isEmpty { return }
                var objects = PartitionObjects(schema: schema)
                let bytes = objects.change(waiting).encoded()
                parts += 1
                total += bytes.count
                (waiting, waitingBytes) = ([], 0)
                try await tables.addPart(bytes, parts, of: source.version, to: key, in: transaction)
            }
            while true {
                let page = try await tables.objects(
                    of: key, after: last, limit: Self.page, bytes: Self.pageBytes, in: transaction)
                for (key, object, bytes) in page {
                    waiting.append((key, object))
                    waitingBytes += bytes
                    if waitingBytes >= partBytes { try await add() }
                }
                guard let newest = page.last?.key else { break }
                last = newest
            }
            try await add()
            // A clock that is ahead doesn't make the whole state newer than it is.
            let time = min(source.originTime, Self.time(store.clock.now()))
            let snapshot = HistorySnapshot(version: source.version, parts: parts, originTime: time)
            try await tables.add(snapshot, bytes: total, to: key, in: transaction)
            return (snapshot, total)
        }
        guard let made else { return }
        logger.info(
            "a snapshot of a partition was made for new Realm clients",
            metadata: [
                "app": "\(key.app)", "partition.id": "\(key.partition)", "bytes": "\(made.bytes)",
                "parts": "\(made.snapshot.parts)", "duration": "\(ContinuousClock.now - begin)",
            ])
    }

    private static let page = 500
    /// The bytes of the objects that are in memory at a time, about.
    private static let pageBytes = 4 << 20
}

import DocumentModel
import DocumentStore
import EventLoop
import Logging
import Postgres
import RealmSync
import SyncEngine

/// The history of one partition: takes what clients with the Realm SDKs upload, and what others do to its documents.
///
/// Documents are the truth. What a client uploads is merged with the history and written to the documents in one transaction; what others
/// write to them is appended to the history as changesets of the server, as soon as anybody looks. An object of the history that differs
/// from its document is always brought back to it.
final class RealmHistory: Sendable {
    let key: PartitionKey
    let store: DocumentStore
    let tables: RealmTables
    let statements: SharedStatements
    let classes: RealmClasses
    let logger: Logger
    /// One snapshot at a time of all partitions.
    let snapshots: FairGate<ExactText>
    private let compressions: FairGate<ExactText>
    let bodies = SharedBodies()
    let view = Locked(HistoryView())
    private let decoded = Locked<(bytes: [UInt8], schema: ObjectSchema)?>(nil)
    let merges: FairGate<ExactText>
    /// Who holds back others that write in a partition.
    let turns: FairGate<ExactText>
    /// Until when uploads are committed alone.
    let aloneUntil = Locked<ContinuousClock.Instant?>(nil)
    /// What clients have uploaded and nobody integrates yet.
    let waiting = Locked<[WaitingUpload]>([])
    /// One change of the history at a time; other gateways are noticed by the version.
    private let gate = FairGate<ExactText>(places: 1, waiting: 10_000)

    init(
        key: PartitionKey, store: DocumentStore, statements: SharedStatements, classes: RealmClasses,
        merges: FairGate<ExactText>, turns: FairGate<ExactText>, snapshots: FairGate<ExactText>,
        compressions: FairGate<ExactText>, logger: Logger
    ) {
        self.key = key
        self.merges = merges
        self.turns = turns
        self.snapshots = snapshots
        self.compressions = compressions
        self.store = store
        self.statements = statements
        self.classes = classes
        self.logger = logger
        tables = RealmTables(client: store.client)
    }

    /// Milliseconds since 2015, the epoch of the SDKs.
    static func time(_ milliseconds: Int64) -> Int64 { max(0, milliseconds - 1_420_070_400_000) }

    func deployed() throws(RealmRefusal) -> RealmClasses.Deployed {
        guard let deployed = classes.classes(of: key.app) else { throw RealmRefusal.notSynced }
        return deployed
    }

    func alone<R: Sendable>(_ body: () async throws -> R) async throws -> R {
        try await gate.enter(ExactText(key.partition.text), isCounted: false)
        defer { gate.leave(ExactText(key.partition.text)) }
        return try await body()
    }

    /// The body of a download for a user, compressed, which takes long for a large one: not on the loop, which serves others.
    func body(of download: DownloadFrame, _ key: SharedBodies.Key?, for user: String) async throws -> FrameBody {
        try await compressions.enter(ExactText(self.key.app), member: ExactText(user), isCounted: false)
        defer { compressions.leave(ExactText(self.key.app), member: ExactText(user)) }
        return await withTaskExecutorPreference(globalConcurrentExecutor) { bodies.body(of: download, key) }
    }

    // MARK: What others do

    /// Something may have happened: the next ``catchUp()`` looks.
    func changed() { view.withLock { _ = $0.tail.request() } }

    /// Documents have changed up to a revision.
    func changed(upTo revision: Revision) { view.withLock { $0.tail.request(upTo: revision) } }

    /// Appends what others have done to documents since ``changed()`` was called last. Those who call it at the same time share that.
    func catchUp() async throws -> HistoryStanding {
        let request = view.withLock { $0.tail.standing == nil ? $0.tail.request() : $0.tail.lastRequest }
        return try await alone {
            if let standing = view.withLock({ $0.tail.standing(for: request) }) { return standing }
            return try await read()
        }
    }

    private func read() async throws -> HistoryStanding {
        let (request, end) = view.withLock { ($0.tail.lastRequest, $0.tail.end) }
        // Not on the loop: what it compares may be much.
        let standing = try await withTaskExecutorPreference(globalConcurrentExecutor) { try await absorb() }
        var new = HistoryPart.none
        if let end, end < standing.version {
            new = try await tables.entries(of: key, after: end, bytes: Self.downloadBytes)
        } else if end == nil, standing.version > 0 {
            new = try await tables.entries(of: key, after: standing.version - 1)
        }
        view.withLock { $0.tail.take(standing, new, for: request) }
        return standing
    }

    /// The bytes of changesets that are read at once.
    static let downloadBytes = 1 << 20

    /// The entries after a version, or the first of them.
    /// - Parameter file: The client's that is sent them.
    func entries(after version: Int64, for file: Int64) async throws -> HistoryPart {
        if let known = view.withLock({ $0.tail.entries(after: version) }) { return known }
        let part = try await tables.entries(of: key, after: version, bytes: Self.downloadBytes, for: file)
        view.withLock { $0.tail.saw(part) }
        return part
    }

    /// How often a look is begun anew when another gateway was faster.
    private static let attempts = 10

    func absorb() async throws -> HistoryStanding {
        for _ in 0..<Self.attempts {
            do {
                let deployed = try deployed(), (known, head) = try await tables.standing(of: key)
                let standing = known ?? .empty
                // Another gateway has a newer version of the app, which comes to this one, too.
                if standing.appVersion > deployed.version { throw RealmRefusal.busy }
                if standing.appVersion == deployed.version, standing.revision == head { return standing }
                if known == nil { try await tables.begin(key) }
                return try await absorb(after: try await upToDate(standing, deployed), deployed)
            } catch RealmRefusal.busy { continue }
        }
        throw RealmRefusal.busy
    }

    /// The classes that a history's changeset makes; decoded once, since each upload needs them.
    func schema(_ bytes: [UInt8]) throws -> ObjectSchema {
        if let known = decoded.withLock({ $0 }), known.bytes == bytes { return known.schema }
        let schema = try ObjectSchema(made: try RealmSync.Changeset(bytes))
        decoded.withLock { $0 = (bytes, schema) }
        return schema
    }

    /// The history with the classes that the app has.
    private func upToDate(
        _ standing: HistoryStanding, _ deployed: RealmClasses.Deployed
    ) async throws -> HistoryStanding {
        if standing.appVersion == deployed.version { return standing }
        let update = HistoryUpdate(
            of: standing, with: standing.version == 0 ? ObjectSchema() : try schema(standing.schema),
            to: deployed.version, deployed.synced.schema, collections: deployed.names,
            at: Self.time(store.clock.now()))
        if update.addition.isReset {
            logger.notice(
                "the classes of a partition have changed; its Realm clients begin anew",
                metadata: ["app": "\(key.app)", "partition.id": "\(key.partition)"])
        }
        try await add(update.addition, from: standing)
        return update.standing
    }

    private func add(_ addition: HistoryAddition, from former: HistoryStanding) async throws {
        // Another gateway may well append the same now.
        try await statements.commit(
            RealmCommit(key: key, former: former, addition: addition), isAlone: true, lockTimeout: .milliseconds(500))
        view.withLock { $0.absorbed(addition, after: former) }
    }

    private func absorb(
        after known: HistoryStanding, _ deployed: RealmClasses.Deployed
    ) async throws -> HistoryStanding {
        guard let (history, head) = try await store.epochHistories(of: [key])[key] else {
            throw DocumentStoreError(.corruptRow, "no epoch")
        }
        let schema = try self.schema(known.schema)
        let point = history.resumePoint(for: known.revision, head: head)
        var standing = known, from = point.revision
        // What is read as a whole doesn't tell what was deleted; until its end, the history isn't further than it was.
        let isWhole = from.number == 0
        var gone = isWhole ? try await tables.objectKeys(of: key) : []
        while true {
            let read = try await store.catchUp(
                app: key.app, partition: key.partition, from: from, deletionsAfter: point.horizon, user: "", device: "",
                counts: false)
            var changes = changes(of: read.entries, schema, deployed)
            gone.subtract(changes.filter { $0.object != nil }.map(\.key))
            if read.isFinal { changes += gone.map { ($0, nil) } }
            if read.isFinal || !isWhole { standing.revision = read.to }
            let known = PartitionObjects(
                schema: schema, objects: try await statements.objects(changes.map(\.key), at: standing.salt, of: key))
            let addition = HistoryAddition(
                absorbing: changes, into: known, standing, at: Self.time(store.clock.now()))
            try await add(addition, from: standing)
            standing = addition.absorbed ?? standing
            if read.isFinal { return standing }
            from = read.to
        }
    }

    private func changes(
        of entries: [CatchUp.Entry], _ schema: ObjectSchema, _ deployed: RealmClasses.Deployed
    ) -> [(key: ObjectKey, object: Document?)] {
        entries.compactMap { entry in
            guard let table = deployed.synced.classes[ExactText(entry.collection)],
                let id = Value(idText: entry.idText).flatMap({ ObjectKey.Id($0) })
            else { return nil }
            let key = ObjectKey(table: table, id: id)
            guard let body = entry.body else { return (key, nil) }
            do {
                return try schema.object(of: try ExtendedJSON.parseDocument(body), table: table)
            } catch {
                logger.notice(
                    "a document isn't sent to Realm clients: it doesn't fit its class",
                    metadata: [
                        "app": "\(self.key.app)", "partition.id": "\(self.key.partition)", "class": "\(table)",
                        "document.id": "\(entry.idText)", "error": "\(error)",
                    ])
                return (key, nil)
            }
        }
    }
}

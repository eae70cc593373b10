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
    let classes: RealmClasses
    let logger: Logger
    /// One snapshot at a time of all partitions.
    let snapshots: FairGate<ExactText>
    let bodies = SharedBodies()
    private let tail = Locked(RealmTail())
    let memory = Locked(RealmMemory())
    private let decoded = Locked<(bytes: [UInt8], schema: ObjectSchema)?>(nil)
    private let merges: FairGate<ExactText>
    /// One change of the history at a time; other gateways are noticed by the version.
    private let gate = FairGate<ExactText>(places: 1, waiting: 10_000)

    init(
        key: PartitionKey, store: DocumentStore, classes: RealmClasses, merges: FairGate<ExactText>,
        snapshots: FairGate<ExactText>, logger: Logger
    ) {
        self.key = key
        self.merges = merges
        self.snapshots = snapshots
        self.store = store
        self.classes = classes
        self.logger = logger
        tables = RealmTables(client: store.client)
    }

    /// Milliseconds since 2015, the epoch of the SDKs.
    static func time(_ milliseconds: Int64) -> Int64 { max(0, milliseconds - 1_420_070_400_000) }

    private func deployed() throws(RealmRefusal) -> RealmClasses.Deployed {
        guard let deployed = classes.classes(of: key.app) else { throw RealmRefusal.notSynced }
        return deployed
    }

    private func alone<R: Sendable>(_ body: () async throws -> R) async throws -> R {
        try await gate.enter(ExactText(key.partition.text), isCounted: false)
        defer { gate.leave(ExactText(key.partition.text)) }
        return try await body()
    }

    // MARK: What others do

    /// Something may have happened: the next ``catchUp()`` looks.
    func changed() { tail.withLock { _ = $0.request() } }

    /// Documents have changed up to a revision.
    /// - Returns: whether that is news.
    func changed(upTo revision: Revision) -> Bool { tail.withLock { $0.request(upTo: revision) } }

    /// Appends what others have done to documents since ``changed()`` was called last. Those who call it at the same time share that.
    func catchUp() async throws -> RealmTables.Standing {
        let request = tail.withLock { $0.standing == nil ? $0.request() : $0.lastRequest }
        return try await alone {
            if let standing = tail.withLock({ $0.standing(for: request) }) { return standing }
            return try await read()
        }
    }

    private func read() async throws -> RealmTables.Standing {
        let (request, end) = tail.withLock { ($0.lastRequest, $0.end) }
        // Not on the loop: what it compares may be much.
        let standing = try await withTaskExecutorPreference(globalConcurrentExecutor) { try await absorb() }
        var new: [RealmTables.Entry] = []
        if let end, end < standing.version {
            new = try await tables.entries(of: key, after: end, bytes: Self.downloadBytes)
        } else if end == nil, standing.version > 0 {
            new = try await tables.entries(of: key, after: standing.version - 1)
        }
        tail.withLock { $0.take(standing, new, for: request) }
        return standing
    }

    /// The bytes of changesets that are read at once.
    static let downloadBytes = 1 << 20

    /// The entries after a version, if they are in memory.
    func knownEntries(after version: Int64) -> [RealmTables.Entry]? {
        tail.withLock { $0.entries(after: version) }.map(Array.init)
    }

    /// The entries after a version, or the first of them.
    func entries(after version: Int64) async throws -> [RealmTables.Entry] {
        if let known = knownEntries(after: version) { return known }
        return try await tables.entries(of: key, after: version, bytes: Self.downloadBytes)
    }

    /// How often a change is begun anew when another gateway was faster, and after what pauses.
    private static let attempts = 10
    private static let races = RetrySchedule(first: .milliseconds(5), limit: .milliseconds(200))

    private func absorb() async throws -> RealmTables.Standing {
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
        var objects = PartitionObjects()
        try objects.apply(try RealmSync.Changeset(bytes))
        decoded.withLock { $0 = (bytes, objects.schema) }
        return objects.schema
    }

    private func entry(_ changeset: RealmSync.Changeset, at version: Int64) -> RealmTables.Entry {
        RealmTables.Entry(
            version: version, salt: RealmTables.Entry.salt(), file: 1, clientVersion: 0,
            originTime: Self.time(store.clock.now()), audience: nil, bytes: changeset.encoded())
    }

    /// The history with the classes that the app has. What the app doesn't have any more stays, but for the objects of collections that
    /// don't sync any more; what it has differently ends the history, and clients begin anew.
    private func upToDate(
        _ standing: RealmTables.Standing, _ deployed: RealmClasses.Deployed
    ) async throws -> RealmTables.Standing {
        if standing.appVersion == deployed.version { return standing }
        var next = standing
        next.appVersion = deployed.version
        if !standing.collections.hasSameBytes(as: deployed.names) {
            next.collections = deployed.names
            // What was done to their documents before may be in no history: all that there is is compared.
            next.revision = EpochHistory.beginning
        }
        let known = standing.version == 0 ? ObjectSchema() : try schema(standing.schema)
        if standing.version > 0, known.includes(deployed.schema) {
            try await add(RealmTables.Addition(absorbed: next), from: standing)
            return next
        }
        let joined = known.joined(with: deployed.schema)
        let changeset = (joined ?? deployed.schema).changeset()
        next.schema = changeset.encoded()
        next.version += 1
        if joined == nil {
            logger.notice(
                "the classes of a partition have changed; its Realm clients begin anew",
                metadata: ["app": "\(key.app)", "partition.id": "\(key.partition)"])
            next.revision = EpochHistory.beginning
            // A version that no client has.
            next.base = standing.version + 1
            next.version = next.base + 1
        }
        let addition = RealmTables.Addition(
            isReset: joined == nil, entries: [entry(changeset, at: next.version)], absorbed: next)
        try await add(addition, from: standing)
        return next
    }

    private func add(_ addition: RealmTables.Addition, from former: RealmTables.Standing) async throws {
        try await store.client.withTransaction { transaction in
            try await tables.add(addition, to: key, from: former, in: transaction)
        }
        let version = addition.entries.last?.version ?? former.version
        memory.withLock { memory in
            if addition.isReset { memory.forget() }
            memory.advance(addition.objects, from: former.version, to: version)
        }
    }

    private func absorb(
        after known: RealmTables.Standing, _ deployed: RealmClasses.Deployed
    ) async throws -> RealmTables.Standing {
        guard let (history, head) = try await store.epochHistories(of: [key])[key] else {
            throw DocumentStoreError(.corruptRow, "no epoch")
        }
        let schema = try self.schema(known.schema)
        var standing = known, from = history.resumePoint(for: known.revision, head: head).revision
        // What is read as a whole doesn't tell what was deleted; until its end, the history isn't further than it was.
        let isWhole = from.number == 0
        var gone = isWhole ? try await tables.objectKeys(of: key) : []
        while true {
            let read = try await store.catchUp(
                app: key.app, partition: key.partition, from: from, user: "", device: "", counts: false)
            var changes = changes(of: read.entries, schema, deployed)
            gone.subtract(changes.filter { $0.object != nil }.map(\.key))
            if read.isFinal { changes += gone.map { ($0, nil) } }
            if read.isFinal || !isWhole { standing.revision = read.to }
            let former = standing
            let addition = try await addition(of: changes, schema, to: &standing)
            try await add(addition, from: former)
            if read.isFinal { return standing }
            from = read.to
        }
    }

    private func changes(
        of entries: [CatchUp.Entry], _ schema: ObjectSchema, _ deployed: RealmClasses.Deployed
    ) -> [(key: ObjectKey, object: Document?)] {
        entries.compactMap { entry in
            guard let table = deployed.classes[ExactText(entry.collection)],
                let id = Value(idText: entry.idText).flatMap({ ObjectKey.Id($0) })
            else { return nil }
            let key = ObjectKey(table: table, id: id)
            guard let body = entry.body else { return (key, nil) }
            do {
                return try schema.object(of: try ExtendedJSON.parseDocument(body), table: table)
            } catch {
                logger.notice(
                    "a document isn't sent to Realm clients: it doesn't fit its class",
                    metadata: ["app": "\(self.key.app)", "class": "\(table)", "error": "\(error)"])
                return (key, nil)
            }
        }
    }

    private func addition(
        of changes: [(key: ObjectKey, object: Document?)], _ schema: ObjectSchema,
        to standing: inout RealmTables.Standing
    ) async throws -> RealmTables.Addition {
        var objects = PartitionObjects(schema: schema, objects: try await tables.objects(changes.map(\.key), of: key))
        let changeset = objects.change(changes)
        var addition = RealmTables.Addition()
        if !changeset.instructions.isEmpty {
            standing.version += 1
            addition.entries = [entry(changeset, at: standing.version)]
            for (key, object) in changes { addition.objects[key] = .some(object) }
        }
        addition.absorbed = standing
        return addition
    }

    // MARK: What a client does

    /// How far a client has looked at its own changes, and up to which version it had the history then. What it has looked at is
    /// acknowledged with its last changeset, also if there was nothing to upload in it.
    struct Progress: Sendable {
        var clientVersion: Int64
        var serverVersion: Int64
    }

    /// What came of an upload.
    struct Integration: Sendable {
        /// The newest version of the client that is in the history, and the version of the history that it is based on.
        var clientVersion: Int64
        var uploadBase: Int64
        /// The writes that were refused and are undone.
        var refused: [SessionError.CompensatingWrite] = []
        /// The processor time that deciding it took, about.
        var work = Duration.zero
    }

    /// Merges what a client has uploaded with the history, and writes it to the documents.
    /// - Throws: ``RealmRefusal`` of what can't be integrated at all; errors of the store.
    func integrate(
        _ uploads: [UploadedChangeset], upTo progress: Progress, of file: Int64, by user: String, mayWrite: Bool
    ) async throws -> Integration {
        try await alone {
            var rest = uploads[...], mayWrite = mayWrite, isOneByOne = false, refusal: String?
            var integration = Integration(clientVersion: 0, uploadBase: 0), backoff = RetryBackoff(Self.races)
            while !rest.isEmpty {
                let size = isOneByOne ? 1 : rest.count
                let standing = try await newest()
                do {
                    let plan = try await plan(
                        Array(rest.prefix(size)), upTo: size == rest.count ? progress : nil, of: file, by: user,
                        standing,
                        refusal: refusal ?? (mayWrite ? nil : "the user may not write in the partition"))
                    try await commit(plan, standing)
                    integration.clientVersion = plan.file.clientVersion
                    integration.uploadBase = plan.file.uploadBase
                    integration.refused += plan.refused
                    integration.work += plan.work
                    rest = rest.dropFirst(size)
                    refusal = nil
                } catch let refusal as RealmRefusal {
                    forget()
                    // Another gateway may have changed the history while it was read.
                    if case .busy = refusal {} else if try await !hasMoved(standing) { throw refusal }
                    try await pause(&backoff)
                } catch let error as DocumentStoreError where error.code == .busy || error.code == .conflict {
                    forget()
                    try await pause(&backoff)
                } catch is RealmTables.Forbidden where mayWrite {
                    mayWrite = false
                } catch let error as DocumentStoreError where error.isAboutDocument && refusal == nil {
                    forget()
                    // Another writer may be the reason: then it may be well after what that one has done.
                    if try await hasMoved(standing) {
                        try await pause(&backoff)
                    } else if size > 1 {
                        isOneByOne = true
                    } else {
                        refusal = error.reason
                    }
                }
            }
            return integration
        }
    }

    /// Where the history stands; without a look at Postgres if nothing is known to have changed.
    private func newest() async throws -> RealmTables.Standing {
        let version = try deployed().version
        if let standing = tail.withLock({ $0.current }), standing.appVersion == version { return standing }
        return try await absorb()
    }

    /// Others have changed the history, or may have: nothing is known any more.
    private func forget() {
        memory.withLock { $0.forget() }
        changed()
    }

    private func plan(
        _ uploads: [UploadedChangeset], upTo progress: Progress?, of file: Int64, by user: String,
        _ standing: RealmTables.Standing, refusal: String?
    ) async throws -> UploadPlan {
        try await merges.enter(ExactText(key.app), member: ExactText(user))
        defer { merges.leave(ExactText(key.app), member: ExactText(user)) }
        return try await UploadPlan.make(
            uploads, upTo: progress, of: file, by: user, standing, in: self, refusal: refusal)
    }

    /// Lets the other gateway that was faster end what it does.
    /// - Throws: ``RealmRefusal/busy`` after too many attempts.
    private func pause(_ backoff: inout RetryBackoff) async throws {
        guard backoff.failures < Self.attempts else { throw RealmRefusal.busy }
        try await Task.sleep(for: backoff.next())
    }

    /// Whether anybody has written since.
    private func hasMoved(_ standing: RealmTables.Standing) async throws -> Bool {
        let (now, head) = try await tables.standing(of: key)
        return now?.version != standing.version || now?.appVersion != standing.appVersion || head != standing.revision
    }

    private func commit(_ plan: UploadPlan, _ standing: RealmTables.Standing) async throws {
        if plan.addition.entries.isEmpty { return }
        let key = key, tables = tables, writes = plan.writes, addition = plan.addition
        let request = tail.withLock { $0.lastRequest }, revision = Locked(standing.revision)
        try await store.withTransaction(app: key.app, readsItsWrites: false) { transaction in
            let reached = try await tables.add(addition, to: key, from: standing, in: transaction)
            revision.withLock { $0 = reached }
        } _: { session in
            try await RealmWrite.perform(writes, in: session)
        }
        var standing = standing
        memory.withLock { memory in
            memory.keep(plan.file)
            memory.advance(
                addition.objects, from: standing.version, to: addition.entries.last?.version ?? standing.version)
        }
        standing.version = addition.entries.last?.version ?? standing.version
        standing.revision = revision.withLock { $0 }
        // Then nobody else has written until the commit, which is as good as having read it then.
        if standing.revision > plan.addition.writes?.since ?? standing.revision {
            tail.withLock { $0.take(standing, addition.entries, for: request) }
        } else {
            changed()
        }
    }
}

extension DocumentStoreError {
    /// Whether the store refuses a document, so that it will do so again.
    fileprivate var isAboutDocument: Bool {
        [.duplicateKey, .schemaViolation, .documentTooLarge, .badId, .badUpdate, .badValue, .notSupported].contains(
            code)
    }

    /// Why a client's write is refused, without names and values that are only the server's to know.
    fileprivate var reason: String {
        guard code == .duplicateKey else { return message }
        return path == "_id" ? "another object has the primary key" : "another object has a value that has to be unique"
    }
}

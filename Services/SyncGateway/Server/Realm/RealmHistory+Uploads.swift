import DocumentModel
import DocumentStore
import EventLoop
import RealmSync
import SyncEngine

/// What clients do.
extension RealmHistory {
    /// The most uploads of different clients in one transaction, and the most bytes of changesets if there are several.
    private static let batch = (uploads: 64, bytes: 1 << 20)
    /// How often others have their turn on the loop before a session comes with its next upload.
    private static let turns = 4
    /// The most bytes of an upload whose merge doesn't wait for its turn, and the most that they are, multiplied by those of the history
    /// with which they are merged.
    private static let small = (bytes: 16 << 10, product: 64 << 20)
    /// The most objects that are read before uploads are merged.
    private static let maximumKeys = 500
    /// How often an upload is begun anew when another gateway was faster, or another writer has locked a document, and after what pauses: a
    /// quarter of a minute in all.
    private static let races = (
        attempts: 36, schedule: RetrySchedule(first: .milliseconds(5), limit: .milliseconds(500))
    )
    /// After how many races that were lost nobody else may write in the partition during an attempt. If that fails, too, since it takes long,
    /// others have as many turns again.
    private static let lostRaces = 3
    /// How long a history's commits are alone after one has failed, so that it doesn't delay those of other partitions again.
    private static let timeAlone = Duration.seconds(10)

    /// Merges what a client has uploaded with the history, and writes it to the documents; together with what others have uploaded
    /// meanwhile.
    /// - Throws: ``RealmRefusal`` if too many uploads wait.
    func integrate(_ upload: RealmUpload) async throws -> RealmUpload.Integration {
        let own = WaitingUpload(upload)
        waiting.withLock { $0.append(own) }
        do {
            try await alone {
                while own.result == nil {
                    await gather()
                    let batch = takeBatch()
                    if batch.allSatisfy({ $0.upload.bytes <= Self.small.bytes }) {
                        await integrate(batch)
                    } else {
                        // Not on the loop, which serves others.
                        await withTaskExecutorPreference(globalConcurrentExecutor) { await integrate(batch) }
                    }
                }
            }
        } catch {
            waiting.withLock { $0.removeAll { $0 === own } }
            // Somebody may have taken it along.
            guard let result = own.result else { throw error }
            return result
        }
        guard let result = own.result else { throw RealmRefusal.busy }
        return result
    }

    private func integrate(_ batch: [WaitingUpload]) async {
        if batch.count > 1, await integrateTogether(batch) { return }
        for one in batch { one.end(await integrateAlone(one.upload)) }
    }

    /// Lets sessions that go on at the same time, such as after the last transaction, come with what they have, as long as more do.
    private func gather() async {
        var count = 0
        repeat {
            count = waiting.withLock { $0.count }
            for _ in 0..<Self.turns { await Task.yield() }
        } while waiting.withLock { $0.count } > count
    }

    /// Takes the first upload that waits, and the next ones of other clients that may be committed with it.
    private func takeBatch() -> [WaitingUpload] {
        waiting.withLock { waiting in
            var files: Set<Int64> = [], bytes = 0
            let count = waiting.prefix { next in
                bytes += next.upload.bytes
                defer { files.insert(next.upload.file) }
                if files.isEmpty { return true }
                return waiting[0].upload.mayWrite && next.upload.mayWrite && !files.contains(next.upload.file)
                    && files.count < Self.batch.uploads && bytes <= Self.batch.bytes
            }.count
            defer { waiting.removeFirst(count) }
            return Array(waiting.prefix(count))
        }
    }

    /// Commits the uploads of several clients in one transaction.
    /// - Returns: false if something is in the way; then nothing is committed, and each has to be integrated alone.
    private func integrateTogether(_ batch: [WaitingUpload]) async -> Bool {
        do {
            var planned = PlannedUploads(after: try await newest())
            // At once, since one after the other each would wait for Postgres.
            let keys = batch.reduce(into: Set()) { $0.formUnion($1.upload.readObjects) }
            if keys.count <= Self.maximumKeys { _ = try await objects(keys, at: planned.standing.salt) }
            let assumesNew = !isAlone
            for one in batch {
                planned.append(try await plan(one.upload, after: planned, refusal: nil, assumesNew: assumesNew))
            }
            try await commit(try transaction(of: planned))
            for (one, plan) in zip(batch, planned.plans) {
                var integration = RealmUpload.Integration()
                integration.take(plan)
                one.end(integration)
            }
            return true
        } catch {
            forget()
            return false
        }
    }

    /// What was integrated before a failure stays, and is to be acknowledged.
    private func integrateAlone(_ upload: RealmUpload) async -> RealmUpload.Integration {
        var integration = RealmUpload.Integration()
        do { try await integrateAlone(upload, &integration) } catch { integration.failure = error }
        return integration
    }

    private func integrateAlone(_ upload: RealmUpload, _ integration: inout RealmUpload.Integration) async throws {
        var rest = upload.changesets[...], mayWrite = upload.mayWrite, size = rest.count, refusal: String?
        var backoff = RetryBackoff(Self.races.schedule), assumesNew = !isAlone, expected: [KeyedWrite] = []
        while !rest.isEmpty {
            // A bad one is found by halves; what is good behind it isn't committed one by one.
            size = min(size, rest.count)
            // None where others are held back, so that nobody is faster.
            let isExclusive = backoff.failures % (Self.lostRaces + 1) == Self.lostRaces
            let standing = isExclusive ? nil : try await newest()
            do {
                var part = upload
                part.changesets = Array(rest.prefix(size))
                if size < rest.count { part.scanned = 0 }
                let reason = refusal ?? (mayWrite ? nil : "the user may not write in the partition")
                let plan: UploadPlan
                if let standing {
                    var planned = PlannedUploads(after: standing)
                    plan = try await self.plan(part, after: planned, refusal: reason, assumesNew: assumesNew)
                    planned.append(plan)
                    let transaction = try transaction(of: planned)
                    expected = transaction?.writes ?? []
                    try await commit(transaction)
                } else {
                    plan = try await integrateExclusively(part, refusal: reason, expecting: expected)
                }
                integration.take(plan)
                rest = rest.dropFirst(size)
                size *= 2
                refusal = nil
            } catch let error where assumesNew && Self.mayFollow(fromAssuming: error) {
                forget()
                assumesNew = false
            } catch let refusal as RealmRefusal {
                forget()
                // Another gateway may have changed the history while it was read.
                if case .busy = refusal {
                } else if try await !hasMoved(standing) {
                    if size == 1 { throw refusal }
                    // Those before the bad one are good.
                    size /= 2
                    continue
                }
                try await pause(&backoff)
            } catch is RealmTables.Forbidden where mayWrite {
                // While that isn't known, the client keeps its writes, and sends them again.
                guard let right = try await tables.mayWrite(upload.user, in: key) else { throw RealmRefusal.undecided }
                mayWrite = right
            } catch let error as DocumentStoreError where error.isAboutWrites && refusal == nil {
                forget()
                // Another writer may be the reason: then it may be well after what that one has done.
                if try await hasMoved(standing) {
                    try await pause(&backoff)
                } else if size > 1 {
                    size /= 2
                } else {
                    refusal = error.reason
                }
            }
        }
    }

    /// Integrates while nobody else can write in the partition.
    private func integrateExclusively(
        _ upload: RealmUpload, refusal: String?, expecting expected: [KeyedWrite]
    ) async throws -> UploadPlan {
        try await turns.enter(ExactText(key.app), member: ExactText(upload.user))
        defer { turns.leave(ExactText(key.app), member: ExactText(upload.user)) }
        var made: (plan: UploadPlan, transaction: RealmCommit?, request: Int)?
        let reached = try await statements.commitExclusively(key, expecting: expected) {
            // What was known before may have changed until now.
            forget()
            var planned = PlannedUploads(after: try await newest())
            let plan = try await plan(upload, after: planned, refusal: refusal, assumesNew: false)
            planned.append(plan)
            let transaction = try transaction(of: planned)
            made = (plan, transaction, view.withLock { $0.tail.lastRequest })
            return transaction
        }
        guard let made else { throw RealmRefusal.busy }
        if let transaction = made.transaction, let reached {
            committed(transaction, reaching: reached, request: made.request)
        }
        return made.plan
    }

    /// Whether an integration may have failed since an object exists that was taken for new.
    private static func mayFollow(fromAssuming error: any Error) -> Bool {
        if case RealmRefusal.busy = error { return false }
        return error is WrongAssumption || error is DocumentStoreError || error is RealmRefusal
    }

    /// Where the history stands; without a look at Postgres if nothing is known to have changed.
    private func newest() async throws -> HistoryStanding {
        let version = try deployed().version
        if let standing = view.withLock({ $0.tail.current }), standing.appVersion == version { return standing }
        return try await withTaskExecutorPreference(globalConcurrentExecutor) { try await absorb() }
    }

    /// Others have changed the history, or may have: nothing is known any more.
    private func forget() { view.withLock { $0.forget() } }

    /// - Parameter assumesNew: Whether objects that the upload creates are taken for new without a look. The commit fails if they aren't.
    private func plan(
        _ upload: RealmUpload, after planned: PlannedUploads, refusal: String?, assumesNew: Bool
    ) async throws -> UploadPlan {
        guard let file = try await file(upload.file) else {
            throw RealmRefusal.reset(.badClientFileIdent, "the server doesn't know the client's file")
        }
        let merge = try UploadMerge(upload, of: file, after: planned)
        if isSmall(merge, of: file, after: planned) {
            return try await plan(merge, of: file, after: planned, refusal: refusal, assumesNew: assumesNew)
        }
        try await merges.enter(ExactText(key.app), member: ExactText(upload.user))
        defer { merges.leave(ExactText(key.app), member: ExactText(upload.user)) }
        // Not on the loop, which serves others.
        return try await withTaskExecutorPreference(globalConcurrentExecutor) {
            try await plan(merge, of: file, after: planned, refusal: refusal, assumesNew: assumesNew)
        }
    }

    /// Whether a merge takes little memory and time. Each instruction of one side may meet each of the other.
    private func isSmall(_ merge: UploadMerge, of file: ClientFile, after planned: PlannedUploads) -> Bool {
        guard merge.upload.bytes <= Self.small.bytes else { return false }
        guard let base = merge.base else { return true }
        guard let entries = knownEntries(after: base, upTo: planned.standing, for: file) else { return false }
        let others = (entries.entries + planned.entries).reduce(0) {
            $0 + ($1.file == file.number ? 0 : $1.bytes.count)
        }
        return others * merge.upload.bytes <= Self.small.product
    }

    private func plan(
        _ started: UploadMerge, of file: ClientFile, after planned: PlannedUploads, refusal: String?, assumesNew: Bool
    ) async throws -> UploadPlan {
        let deployed = try deployed(), standing = planned.standing
        guard deployed.version == standing.appVersion else { throw RealmRefusal.busy }
        var merge = started, work = Duration.zero
        if let base = merge.base {
            let entries = try await allEntries(after: base, upTo: standing, for: file)
            let forms = try await forms(of: entries.entries, after: base, for: file), begin = ContinuousClock.now
            try merge.merge(entries, reciprocals: forms)
            work = ContinuousClock.now - begin
        }
        let assumed = assumesNew && refusal == nil ? unknown(try merge.created, at: standing.salt) : []
        let stored = try await objects(merge.needed.subtracting(assumed), at: standing.salt)
        let schema = try schema(standing.schema), target = deployed.target(key.partition)
        let unfit = try await unfit(merge.lost, schema, target)
        let begin = ContinuousClock.now
        var plan = try UploadPlan(
            merge, to: stored, assuming: assumed, schema, target, unfit: unfit, refusal: refusal,
            at: Self.time(store.clock.now()))
        plan.work = work + (ContinuousClock.now - begin)
        return plan
    }

    /// Why the documents of objects don't fit their classes, of those that are there and don't. A document that somebody writes meanwhile
    /// makes the commit fail.
    private func unfit(
        _ keys: Set<ObjectKey>, _ schema: ObjectSchema, _ target: UploadTarget
    ) async throws -> [ObjectKey: String] {
        var unfit: [ObjectKey: String] = [:]
        for (table, keys) in Dictionary(grouping: keys, by: { ExactText($0.table) }) {
            guard let name = target.collections[table] else { continue }
            let collection = store.collection(name, database: target.database, app: key.app)
            let ids = keys.filter(\.isStorable).map(\.id.value)
            for begin in stride(from: 0, to: ids.count, by: Self.maximumKeys) {
                let part = Array(ids[begin..<min(begin + Self.maximumKeys, ids.count)])
                let filter: Document = ["_id": ["$in": .array(part)], target.partitionKey: target.partition]
                try await collection.forEach(filter) { document in
                    guard let id = document["_id"].flatMap({ ObjectKey.Id($0) }) else { return true }
                    do {
                        _ = try schema.object(of: document, table: table.text)
                    } catch {
                        unfit[ObjectKey(table: table.text, id: id)] =
                            "another writer has made the document one that doesn't fit its class: \(error)"
                    }
                    return true
                }
            }
        }
        return unfit
    }

    /// Those of objects that aren't known at the version with a secret.
    private func unknown(_ keys: Set<ObjectKey>, at salt: Int64) -> Set<ObjectKey> {
        if keys.isEmpty { return [] }
        let known = view.withLock { $0.memory.objects(keys, at: salt) }
        return keys.filter { known[$0] == nil }
    }

    /// Whether the history's transactions are its own for now, since one has failed.
    private var isAlone: Bool { aloneUntil.withLock { $0.map { $0 > .now } ?? false } }

    /// Lets the other gateway that was faster end what it does.
    /// - Throws: ``RealmRefusal/busy`` after too many attempts.
    private func pause(_ backoff: inout RetryBackoff) async throws {
        guard backoff.failures < Self.races.attempts else { throw RealmRefusal.busy }
        try await Task.sleep(for: backoff.next())
    }

    /// Whether anybody has written since; nobody where there is no standing, since others were held back.
    private func hasMoved(_ standing: HistoryStanding?) async throws -> Bool {
        guard let standing else { return false }
        let (now, head) = try await tables.standing(of: key)
        return now?.version != standing.version || now?.appVersion != standing.appVersion || head != standing.revision
    }

    /// The transaction of plans; `nil` if they add nothing.
    private func transaction(of planned: PlannedUploads) throws -> RealmCommit? {
        guard planned.provesAssumptions else { throw WrongAssumption() }
        if planned.entries.isEmpty { return nil }
        let deployed = try deployed(), former = planned.standing
        let writes = try planned.writes(try schema(former.schema), in: key.partition, deployed.target(key.partition))
        let addition = planned.addition(writing: writes.map { ($0.namespace.collection, $0.id) })
        return RealmCommit(key: key, former: former, addition: addition, writes: writes)
    }

    private func commit(_ transaction: RealmCommit?) async throws {
        guard let transaction else { return }
        let request = view.withLock { $0.tail.lastRequest }
        let reached: Revision
        do {
            reached = try await statements.commit(transaction, isAlone: isAlone)
        } catch {
            aloneUntil.withLock { $0 = .now + Self.timeAlone }
            throw error
        }
        committed(transaction, reaching: reached, request: request)
    }

    private func committed(_ transaction: RealmCommit, reaching reached: Revision, request: Int) {
        view.withLock {
            $0.committed(transaction.addition, after: transaction.former, reaching: reached, request: request)
        }
    }
}

/// The transaction wouldn't show whether objects are new that are taken for it.
private struct WrongAssumption: Error {}

extension DocumentStoreError {
    /// Whether the store refuses what is written, so that it will do so again: all of its errors but those that pass by themselves.
    fileprivate var isAboutWrites: Bool { !isRetriable && ![.unavailable, .stopped, .unknownApp].contains(code) }

    /// Why a client's write is refused, without names and values that are only the server's to know.
    fileprivate var reason: String {
        guard code == .duplicateKey else { return message }
        return path == "_id" ? "another object has the primary key" : "another object has a value that has to be unique"
    }
}

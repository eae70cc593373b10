import DocumentModel
import Postgres
import SyncEngine

/// The changesets of a batch, applied in memory to what was read under locks. Pure: what it decides follows from what was taken.
struct UploadWork: Sendable {
    struct GrantKey: Hashable, Sendable {
        let partition: ExactText
        let user: ExactText

        init(partition: Partition, user: String) {
            self.partition = ExactText(partition.text)
            self.user = ExactText(user)
        }
    }

    /// The answer to an upload, where its revision may still have to be learned.
    private enum Draft {
        /// What it needs is locked.
        case busy
        case done(UploadResult)
        /// `ordinal` counts in the upload's partition.
        case committed(partition: Partition, ordinal: Int64, lost: [LostWrite])
    }

    let storage: AppStorage
    let tables: [ExactText: CollectionTable]
    private(set) var plan: WritePlan
    private var drafts: [Draft]
    private var counters: [UploadCounter.Key: UploadCounter] = [:]
    private var busyDocuments: Set<WritePlan.Key> = []
    /// Counters one of whose changesets has left the batch: those behind it leave too.
    private var stalled: Set<UploadCounter.Key> = []
    private var mayWrite: [GrantKey: Bool] = [:]
    private var heads: [ExactText: Revision] = [:]
    private var requiredGrants: Set<GrantKey> = []
    private var newOutcomes: [(upload: Upload, outcome: UploadOutcome)] = []
    /// By the upload's place.
    var knownOutcomes: [Int: UploadOutcome] = [:]

    init(storage: AppStorage, tables: [ExactText: CollectionTable], count: Int) {
        self.storage = storage
        self.tables = tables
        plan = WritePlan(storage: storage)
        drafts = Array(repeating: .busy, count: count)
    }

    // MARK: What was read

    mutating func take(counter row: PostgresRow) throws {
        let (user, device, partition, version) = try row.decode((String, String, String, Int64?).self)
        let key = UploadCounter.Key(user: user, device: device, partition: partition)
        if let version {
            counters[key] = UploadCounter(lastVersion: version, recent: try row.decode(4, as: [UInt8].self))
        } else {
            counters[key] = UploadCounter()
        }
    }

    mutating func take(document row: PostgresRow, of table: CollectionTable) throws {
        let id = try row.decode(0, as: String.self)
        if try row.decode(8, as: Bool.self) {
            busyDocuments.insert(.init(table.namespace, id: id))
        } else {
            plan.hold(table, id: id, row: try DocumentRow(row))
        }
    }

    mutating func take(grant row: PostgresRow) throws {
        let (partition, user, mayWrite) = try row.decode((String, String, Bool).self)
        self.mayWrite[.init(partition: Partition(text: partition), user: user)] = mayWrite
    }

    mutating func take(head row: PostgresRow) throws {
        let (partition, epoch, number) = try row.decode((String, Int32?, Int64?).self)
        heads[ExactText(partition)] = Revision(epoch: epoch ?? 1, number: number ?? 0)
    }

    /// Whether the changeset's version was committed before.
    func isKnown(_ upload: Upload) -> Bool {
        counters[upload.counter].map { upload.changeset.version <= $0.lastVersion } ?? false
    }

    // MARK: Applying

    mutating func apply(_ upload: Upload, at index: Int, refusal: OperationRejection? = nil) {
        let key = upload.counter
        guard !stalled.contains(key), var counter = counters[key] else { return }
        let version = upload.changeset.version
        let digest = upload.changeset.digest
        if version <= counter.lastVersion {
            if let draft = known(upload, at: index, digest: digest, counter: counter) { drafts[index] = draft }
            return
        }
        guard version == counter.lastVersion + 1 else {
            drafts[index] = .done(.outOfOrder(expected: counter.lastVersion + 1))
            return
        }
        var run = ChangesetRun(upload: upload, storage: storage)
        do throws(ChangesetRun.Stop) {
            if let refusal { throw .rejected(refusal) }
            if mayWrite[.init(partition: upload.partition, user: upload.user)] != true {
                throw ChangesetRun.Stop.rejected(
                    OperationRejection(code: .notPermitted, reason: "the user may not write this partition"))
            }
            for place in upload.changeset.operations.indices {
                try run.apply(place, in: plan, tables: tables, busy: busyDocuments)
            }
            try run.check(mayWrite: mayWrite)
        } catch {
            switch error {
            case .busy: stalled.insert(key)
            case .rejected(let rejection): reject(upload, at: index, as: rejection, digest: digest, counter: &counter)
            }
            return
        }
        commit(run, at: index, digest: digest, counter: &counter)
    }

    private mutating func commit(_ run: ChangesetRun, at index: Int, digest: UInt64, counter: inout UploadCounter) {
        let upload = run.upload
        run.record(in: &plan)
        requiredGrants.insert(.init(partition: upload.partition, user: upload.user))
        for partition in run.targets { requiredGrants.insert(.init(partition: partition, user: upload.user)) }
        if !run.lost.isEmpty { newOutcomes.append((upload, UploadOutcome(lost: run.lost))) }
        // A changeset that changed nothing lost to what is committed, or to what is before it in this batch.
        let ordinal = plan.count(in: upload.partition)
        if ordinal > 0 {
            counter.add(.init(digest: digest, revision: .provisional(ordinal)))
            drafts[index] = .committed(partition: upload.partition, ordinal: ordinal, lost: run.lost)
        } else {
            let head = head(of: upload.partition)
            counter.add(.init(digest: digest, revision: head))
            drafts[index] = .done(.acknowledged(Acknowledgement(revision: head, lost: run.lost)))
        }
        counters[upload.counter] = counter
    }

    private mutating func reject(
        _ upload: Upload, at index: Int, as rejection: OperationRejection, digest: UInt64, counter: inout UploadCounter
    ) {
        counter.add(.init(digest: digest, revision: head(of: upload.partition)))
        counters[upload.counter] = counter
        newOutcomes.append((upload, UploadOutcome(rejected: rejection)))
        drafts[index] = .done(.rejected(rejection))
    }

    private func head(of partition: Partition) -> Revision {
        heads[ExactText(partition.text)] ?? Revision(epoch: 1, number: 0)
    }

    /// The answer to a version that was committed before; `nil` when that was in this very batch, and has no revision yet.
    private func known(_ upload: Upload, at index: Int, digest: UInt64, counter: UploadCounter) -> Draft? {
        guard let entry = counter.entry(of: upload.changeset.version) else {
            let reason = "the server has had version \(upload.changeset.version) for too long to tell what it was"
            return .done(.rejected(OperationRejection(code: .outcomeUnknown, reason: reason)))
        }
        if entry.digest != digest { return .done(.forked) }
        let revision = entry.revision
        if revision.isProvisional { return nil }
        switch knownOutcomes[index] {
        case .rejected(let rejection): return .done(.rejected(rejection))
        case .lost(let lost): return .done(.acknowledged(.init(revision: revision, lost: lost)))
        case nil: return .done(.acknowledged(.init(revision: revision)))
        }
    }

    // MARK: What is to be written

    /// All that is to be written; the first moves the heads, if any is to be moved.
    var statements: [PostgresStatement] {
        var statements: [PostgresStatement] = []
        if !plan.isEmpty { statements.append(plan.numbering) }
        if !requiredGrants.isEmpty {
            statements.append(
                .init(
                    UploadSQL.requireGrants,
                    [
                        .text(storage.app), .textArray(requiredGrants.map(\.partition.text)),
                        .textArray(requiredGrants.map(\.user.text)),
                    ]))
        }
        statements += plan.statements()
        statements += counterStatements
        if !newOutcomes.isEmpty {
            statements.append(
                .init(
                    UploadSQL.insertOutcomes,
                    [
                        .text(storage.app), .textArray(newOutcomes.map(\.upload.user)),
                        .textArray(newOutcomes.map(\.upload.device)),
                        .textArray(newOutcomes.map(\.upload.partition.text)),
                        .int8Array(newOutcomes.map(\.upload.changeset.version)),
                        .textArray(newOutcomes.map(\.outcome.text)),
                    ]))
        }
        return statements
    }

    private var counterStatements: [PostgresStatement] {
        let changed = counters.filter { !$0.value.added.isEmpty }
        let updates = CounterColumns(changed.filter(\.value.exists), plan: plan)
        let inserts = CounterColumns(changed.filter { !$0.value.exists }, plan: plan)
        return [
            updates.statement(UploadSQL.updateCounters, app: storage.app),
            inserts.statement(UploadSQL.insertCounters, app: storage.app),
        ].compactMap { $0 }
    }

    /// The answers, once the heads are known; `nil` for what is locked out.
    func results(heads: [CommittedHead]) -> [UploadResult?] {
        var revisions: [ExactText: Revision] = [:]
        for head in heads { revisions[ExactText(head.partition.text)] = head.revision }
        return drafts.map { draft in
            switch draft {
            case .busy: return nil
            case .done(let result): return result
            case .committed(let partition, let ordinal, let lost):
                guard let head = revisions[ExactText(partition.text)] else { return nil }
                let number = head.number - plan.back(ordinal, in: partition)
                return .acknowledged(.init(revision: Revision(epoch: head.epoch, number: number), lost: lost))
            }
        }
    }
}

/// Arrays for the statements about counters.
private struct CounterColumns {
    private var keys: [UploadCounter.Key] = []
    private var versions: [Int64?] = []
    private var readVersions: [Int64?] = []
    private var kept: [[UInt8]?] = []
    private var firsts: [Int64?] = []
    private var counts: [Int64?] = []
    private var digests: [Int64?] = []
    private var backs: [Int64?] = []
    private var epochs: [Int64?] = []
    private var numbers: [Int64?] = []

    init(_ counters: [UploadCounter.Key: UploadCounter], plan: WritePlan) {
        for (key, counter) in counters {
            let added = counter.added.suffix(UploadCounter.kept)
            keys.append(key)
            versions.append(counter.lastVersion)
            readVersions.append(counter.lastVersion - Int64(counter.added.count))
            kept.append(counter.keptBytes)
            // Arrays begin at 1 in SQL.
            firsts.append(Int64(digests.count + 1))
            counts.append(Int64(added.count))
            for entry in added {
                let isProvisional = entry.revision.isProvisional
                digests.append(Int64(bitPattern: entry.digest))
                backs.append(
                    isProvisional
                        ? plan.back(entry.revision.number, in: Partition(text: key.partition.text)) : nil)
                epochs.append(isProvisional ? nil : Int64(entry.revision.epoch))
                numbers.append(isProvisional ? nil : entry.revision.number)
            }
        }
    }

    func statement(_ sql: String, app: String) -> PostgresStatement? {
        if keys.isEmpty { return nil }
        return PostgresStatement(
            sql,
            [
                .text(app), .textArray(keys.map(\.user.text)), .textArray(keys.map(\.device.text)),
                .textArray(keys.map(\.partition.text)), .int8Array(versions), .byteaArray(kept), .int8Array(firsts),
                .int8Array(counts), .int8Array(digests), .int8Array(backs), .int8Array(epochs), .int8Array(numbers),
                .int8Array(readVersions),
            ])
    }
}

import DocumentModel
import EventLoop
import Postgres
import QueryLanguage
import SyncEngine

/// The uploads of many devices of one app, committed in one transaction of two round trips.
///
/// 1. Locks documents, reads counters, grants and heads. It doesn't wait for documents that another transaction has locked: the
///    changesets that need them leave the batch and are retried, so an open transaction doesn't delay the others.
/// 2. Decides about the changesets one after the other in memory (`UploadDecision`); a rejected one changes nothing except that its
///    rejection is stored. After ``turn`` those that are left leave the batch, too.
/// 3. Locks the partitions in their order, writes documents, change rows and counters in bulk, checks the grants again, and
///    commits, all in one write.
struct UploadBatch {
    let storage: AppStorage
    let uploads: [Upload]
    /// The tables by collection, without those that the app doesn't sync.
    let tables: [ExactText: CollectionTable]
    let lockTimeout: Duration
    /// Told what an upload costs.
    let charge: DocumentStore.UploadCharge
    /// The reason to reject all changesets of the batch; `nil` to decide about each.
    var refusal: OperationRejection?

    /// - Returns: the results, `nil` for an upload that needs something that is locked, which isn't committed; and what was written.
    /// - Throws: what Postgres throws; then nothing is committed, unless the outcome is unknown.
    func commit(
        on client: PostgresClient
    ) async throws -> (results: [UploadResult?], heads: [CommittedHead], plan: WritePlan) {
        let (decision, rows) = try await client.withTransaction { transaction in
            var decision = try await read(in: transaction)
            decide(&decision)
            return (decision, try await transaction.commit(with: decision.statements(tables: tables.values)))
        }
        let heads = decision.plan.isEmpty ? [] : try CommittedHead.all(from: rows[0])
        return (decision.results(heads: heads), heads, decision.plan)
    }

    /// The processor time after which a batch is committed with what is decided.
    private static let turn = Duration.milliseconds(100)
    /// The cost of large changes after which it is.
    private static let writingTurn = Duration.milliseconds(500)

    private func decide(_ decision: inout UploadDecision) {
        let start = ThreadTime.now
        var last = start
        var written = Duration.zero
        for (index, upload) in uploads.enumerated() where last - start < Self.turn && written < Self.writingTurn {
            let before = decision.plan.bytes
            decision.apply(upload, at: index, refusal: refusal)
            let now = ThreadTime.now
            let cost = Self.cost(ofWriting: decision.plan.bytes - before, by: upload)
            charge(upload, now - last + cost)
            written += cost
            last = now
        }
    }

    /// What large changes cost after they are decided: Postgres stores, the relay publishes and every consumer reads the document
    /// as it was and as it is, which took about 200 ns per byte on the machine where it was measured. What small ones cost is in
    /// proportion to the time of their decision.
    private static func cost(ofWriting bytes: Int, by upload: Upload) -> Duration {
        let large = bytes - upload.changeset.operations.count * 4096
        return large > 0 ? .nanoseconds(200) * large : .zero
    }

    private func read(in transaction: PostgresTransaction) async throws -> UploadDecision {
        var decision = UploadDecision(storage: storage, count: uploads.count, interruption: Self.limit)
        let wanted = Wanted(uploads: uploads, storage: storage, tables: tables)
        let locks = wanted.ids.map { PostgresStatement($0.table.lockStatement, [.textArray($0.ids)]) }
        let app = PostgresValue.text(storage.app)
        let results = try await transaction.pipeline(
            [
                PostgresStatement(UploadSQL.begin, [.text("\(lockTimeout.limitMilliseconds)ms")]),
                PostgresStatement(
                    UploadSQL.counters,
                    [
                        app, .textArray(wanted.counters.map(\.user.text)),
                        .textArray(wanted.counters.map(\.device.text)),
                        .textArray(wanted.counters.map(\.partition.text)),
                    ]),
            ] + locks + [
                PostgresStatement(
                    UploadSQL.grants,
                    [
                        app, .textArray(wanted.grants.map(\.partition.text)),
                        .textArray(wanted.grants.map(\.user.text)),
                    ]),
                PostgresStatement(UploadSQL.heads, [app, .textArray(wanted.partitions.map(\.text))]),
            ])
        for row in results[1] { try decision.take(counter: row) }
        for (place, lock) in wanted.ids.enumerated() {
            for row in results[2 + place] { try decision.take(document: row, of: lock.table) }
        }
        for row in results[2 + locks.count] { try decision.take(grant: row) }
        for row in results[3 + locks.count] { try decision.take(head: row) }
        try await readOutcomes(for: &decision, in: transaction)
        return decision
    }

    /// Reads the stored outcomes of changesets that were sent before; only these need the round trip.
    private func readOutcomes(for decision: inout UploadDecision, in transaction: PostgresTransaction) async throws {
        let known = uploads.indices.compactMap { place in
            decision.knownVersion(of: uploads[place]).map { (place: place, version: $0) }
        }
        if known.isEmpty { return }
        let rows = try await transaction.query(
            UploadSQL.outcomes,
            [
                .text(storage.app), .textArray(known.map { uploads[$0.place].user }),
                .textArray(known.map { uploads[$0.place].device }),
                .textArray(known.map { uploads[$0.place].partition.text }), .int8Array(known.map(\.version)),
            ])
        for row in rows {
            let (place, text) = try row.decode((Int, String).self)
            decision.take(try UploadOutcome(text: text), at: known[place - 1].place)
        }
    }

    /// The most processor time that the rules may take for all operations of a changeset, during which no other changeset is
    /// decided. It is this thread's processor time, so that a busy machine doesn't cause rejections.
    private static let timeLimit = Duration.seconds(1)

    /// The limit for one changeset, from now on.
    private static func limit() -> Interruption {
        let end = ThreadTime.now + timeLimit
        return Interruption {
            ThreadTime.now < end ? nil : QueryError(code: 50, message: "the changeset takes too long to be applied")
        }
    }

    /// The rows that have to be read, without duplicates.
    private struct Wanted {
        var counters: [UploadCounter.Key] = []
        var grants: [UploadDecision.GrantKey] = []
        var partitions: [ExactText] = []
        var ids: [(table: CollectionTable, ids: [String?])] = []

        init(uploads: [Upload], storage: AppStorage, tables: [ExactText: CollectionTable]) {
            var byTable: [ExactText: Set<ExactText>] = [:]
            var counters: Set<UploadCounter.Key> = []
            var grants: Set<UploadDecision.GrantKey> = []
            var partitions: Set<ExactText> = []
            for upload in uploads {
                counters.insert(upload.counter)
                partitions.insert(ExactText(upload.partition.text))
                grants.insert(.init(partition: upload.partition, user: upload.user))
                for operation in upload.changeset.operations {
                    if let id = operation.id.idText {
                        byTable[ExactText(operation.collection), default: []].insert(.init(id))
                    }
                    if let target = storage.partitionKey.flatMap({ operation.target(by: $0) }) {
                        grants.insert(.init(partition: target, user: upload.user))
                    }
                }
            }
            self.counters = Array(counters)
            self.grants = Array(grants)
            self.partitions = Array(partitions)
            for (collection, ids) in byTable.sorted(by: { $0.key < $1.key }) {
                guard let table = tables[collection] else { continue }
                self.ids.append((table, ids.filter { !$0.text.utf8.contains(0) }.sorted().map(\.text)))
            }
        }
    }
}

extension UploadDecision {
    fileprivate mutating func take(counter row: PostgresRow) throws {
        let (user, device, partition, version) = try row.decode((String, String, String, Int64?).self)
        let counter = try version.map {
            UploadCounter(
                lastVersion: $0, recent: try row.decode(4, as: [UInt8].self), isClosed: try row.decode(5, as: Bool.self)
            )
        }
        take(counter ?? UploadCounter(), of: .init(user: user, device: device, partition: partition))
    }

    fileprivate mutating func take(document row: PostgresRow, of table: CollectionTable) throws {
        let id = try row.decode(0, as: String.self)
        if try row.decode(8, as: Bool.self) {
            takeLocked(table.namespace, id: id)
        } else {
            take(try DocumentRow(row).map(WorkingDocument.State.init), of: table.namespace, id: id)
        }
    }

    fileprivate mutating func take(grant row: PostgresRow) throws {
        let (partition, user, mayWrite) = try row.decode((String, String, Bool?).self)
        take(mayWrite: mayWrite, .init(partition: Partition(text: partition), user: user))
    }

    fileprivate mutating func take(head row: PostgresRow) throws {
        let (partition, epoch, number) = try row.decode((String, Int32?, Int64?).self)
        take(head: Revision(epoch: epoch ?? 1, number: number ?? 0), of: Partition(text: partition))
    }
}

extension Duration {
    /// Whole milliseconds, at least 1, since Postgres takes a limit of 0 for none.
    var limitMilliseconds: Int64 { max(wholeMilliseconds, 1) }
}

extension CommittedHead {
    /// Reads the answer to ``CommitSQL/number``.
    static func all(from rows: PostgresRows) throws -> [CommittedHead] {
        try rows.map { row in
            let (partition, epoch, number) = try row.decode((String, Int32, Int64).self)
            return CommittedHead(
                partition: Partition(text: partition), revision: Revision(epoch: epoch, number: number))
        }
    }
}

import DocumentModel
import Postgres
import SyncEngine

/// The uploads of many devices of one app, committed in one transaction of two round trips.
///
/// 1. Locks documents, reads counters, grants and heads. What somebody else has locked is not waited for: its changesets
///    leave the batch and are tried again, so an open transaction stalls itself and not the others.
/// 2. Applies the changesets one after the other in memory (``UploadWork``); a rejected one leaves no trace but its refusal.
/// 3. Locks the partitions in their order, writes documents, change rows and counters in bulk, checks the grants again, and
///    commits, all in one write.
struct UploadBatch {
    let storage: AppStorage
    let uploads: [Upload]
    /// By collection; those that the app doesn't sync are left out.
    let tables: [ExactText: CollectionTable]
    let lockTimeout: Duration
    /// Rejects all of it.
    var refusal: OperationRejection?

    /// - Returns: the results, `nil` for an upload that needs something that is locked, of which nothing is committed.
    /// - Throws: what Postgres throws; then nothing is committed, unless the outcome is unknown.
    func commit(on client: PostgresClient) async throws -> (results: [UploadResult?], heads: [CommittedHead]) {
        let (work, rows) = try await client.withTransaction { transaction in
            var work = try await read(in: transaction)
            for index in uploads.indices { work.apply(uploads[index], at: index, refusal: refusal) }
            return (work, try await transaction.commit(with: work.statements))
        }
        let heads = work.plan.isEmpty ? [] : try CommittedHead.all(from: rows[0])
        return (work.results(heads: heads), heads)
    }

    private func read(in transaction: PostgresTransaction) async throws -> UploadWork {
        var work = UploadWork(storage: storage, tables: tables, count: uploads.count)
        let wanted = Wanted(uploads: uploads, storage: storage, tables: tables)
        let locks = wanted.ids.map { PostgresStatement($0.table.lockStatement, [.textArray($0.ids)]) }
        let app = PostgresValue.text(storage.app)
        let results = try await transaction.pipeline(
            [
                PostgresStatement(CommitSQL.begin, [.text("\(lockTimeout.milliseconds)ms")]),
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
        for row in results[1] { try work.take(counter: row) }
        for (place, lock) in wanted.ids.enumerated() {
            for row in results[2 + place] { try work.take(document: row, of: lock.table) }
        }
        for row in results[2 + locks.count] { try work.take(grant: row) }
        for row in results[3 + locks.count] { try work.take(head: row) }
        try await readOutcomes(for: &work, in: transaction)
        return work
    }

    /// What is to be said again about changesets that are sent again; a round trip that is needed for these only.
    private func readOutcomes(for work: inout UploadWork, in transaction: PostgresTransaction) async throws {
        let known = uploads.indices.filter { work.isKnown(uploads[$0]) }
        if known.isEmpty { return }
        let rows = try await transaction.query(
            UploadSQL.outcomes,
            [
                .text(storage.app), .textArray(known.map { uploads[$0].user }),
                .textArray(known.map { uploads[$0].device }), .textArray(known.map { uploads[$0].partition.text }),
                .int8Array(known.map { uploads[$0].changeset.version }),
            ])
        for row in rows {
            let (place, text) = try row.decode((Int, String).self)
            work.knownOutcomes[known[place - 1]] = try UploadOutcome(text: text)
        }
    }

    /// What has to be read, each once.
    private struct Wanted {
        var counters: [UploadCounter.Key] = []
        var grants: [UploadWork.GrantKey] = []
        var partitions: [ExactText] = []
        var ids: [(table: CollectionTable, ids: [String?])] = []

        init(uploads: [Upload], storage: AppStorage, tables: [ExactText: CollectionTable]) {
            var byTable: [ExactText: Set<ExactText>] = [:]
            var counters: Set<UploadCounter.Key> = []
            var grants: Set<UploadWork.GrantKey> = []
            var partitions: Set<ExactText> = []
            for upload in uploads {
                counters.insert(upload.counter)
                partitions.insert(ExactText(upload.partition.text))
                grants.insert(.init(partition: upload.partition, user: upload.user))
                for operation in upload.changeset.operations {
                    if let id = operation.id.idText {
                        byTable[ExactText(operation.collection), default: []].insert(.init(id))
                    }
                    if case .update(let operators, _) = operation.kind, let key = storage.partitionKey,
                        let value = operators["$set"]?[key], let target = Partition(value: value)
                    {
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

extension Duration {
    /// Whole milliseconds, at least 1.
    var milliseconds: Int64 {
        max(components.seconds * 1000 + components.attoseconds / 1_000_000_000_000_000, 1)
    }
}

/// Where a partition stands after a commit.
public struct CommittedHead: Hashable, Sendable {
    public var partition: Partition
    public var revision: Revision

    public init(partition: Partition, revision: Revision) {
        self.partition = partition
        self.revision = revision
    }

    /// Reads the answer to ``CommitSQL/number``.
    static func all(from rows: PostgresRows) throws -> [CommittedHead] {
        try rows.map { row in
            let (partition, epoch, number) = try row.decode((String, Int32, Int64).self)
            return CommittedHead(
                partition: Partition(text: partition), revision: Revision(epoch: epoch, number: number))
        }
    }
}

extension PostgresReply {
    /// A transaction whose statements were sent without waiting says at the COMMIT only that it was rolled back: the answer
    /// to the statement that failed says why.
    static func cause(of error: any Error, in replies: [PostgresReply]) async -> any Error {
        guard let failure = error as? PostgresError, failure.code == .transactionRolledBack else { return error }
        for reply in replies {
            do {
                _ = try await reply.rows()
            } catch let cause as PostgresError where cause.code == .server && cause.sqlstate != "25P02" {
                return cause
            } catch {
                continue
            }
        }
        return error
    }
}

import DocumentModel
import Postgres
import SyncEngine

extension UploadDecision {
    /// The statements that write everything; the first one moves the heads, if any has to be moved.
    func statements(tables: some Sequence<CollectionTable>) -> [PostgresStatement] {
        let plan = TablePlan(plan, tables: tables)
        var statements: [PostgresStatement] = []
        if !plan.isEmpty { statements.append(plan.numbering) }
        if !requiredGrants.isEmpty {
            statements.append(
                .init(
                    UploadSQL.requireGrants,
                    [
                        .text(storage.app), .textArray(requiredGrants.map(\.partition.text)),
                        .textArray(requiredGrants.map(\.user.text)),
                        .int8Array(requiredGrants.map { self.plan.counts[$0.partition] }),
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
        let changed = counters.filter(\.value.hasChanged)
        let updates = CounterColumns(changed.filter(\.value.exists), plan: plan)
        let inserts = CounterColumns(changed.filter { !$0.value.exists }, plan: plan)
        return [
            updates.statement(UploadSQL.updateCounters, app: storage.app),
            inserts.statement(UploadSQL.insertCounters, app: storage.app),
        ].compactMap { $0 }
    }
}

/// The parameter arrays of the statements about counters.
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
    private var closed: [Bool] = []
    private var schemaVersions: [Int64?] = []

    init(_ counters: [UploadCounter.Key: UploadCounter], plan: WritePlan) {
        for (key, counter) in counters {
            let added = counter.added.suffix(UploadCounter.kept)
            keys.append(key)
            closed.append(counter.isClosed)
            schemaVersions.append(counter.schemaVersion)
            versions.append(counter.lastVersion)
            readVersions.append(counter.lastVersion - Int64(counter.added.count))
            kept.append(counter.stayingBytes)
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
                .int8Array(readVersions), .boolArray(closed), .int8Array(schemaVersions),
            ])
    }
}

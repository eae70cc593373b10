import DocumentModel
import Postgres
import QueryLanguage
import SyncEngine

/// The update of one document by two statements, each its own transaction: one reads the document, the other locks it if it is
/// unchanged, numbers the change and writes. A transaction that locks first takes twice the time, mostly for additional statements;
/// it is used for contended documents.
struct UnlockedUpdate {
    let store: DocumentStore
    let storage: AppStorage
    let target: DocumentSession.Target

    /// - Returns: the first document that matches before and after the update, `before` being `nil` when none matches; `nil` if
    ///   another writer changed it meanwhile, or a single statement can't write it.
    func run(_ update: Update, operation: ChangeEvent.OperationType) async throws -> DocumentSession.Updated? {
        // With an inexact condition, many candidates may have to be examined.
        guard target.condition.isExact else { return nil }
        let found = DocumentSession.Updated(before: nil, after: nil, isModified: false)
        let only = try await target.natural.only(DocumentRow.columns) { try await store.client.query($0) }
        let rows =
            if let only { only } else {
                try await store.client.query(target.natural.statement(DocumentRow.columns, limit: 1))
            }
        guard let row = rows.first else { return found }
        let id = try row.decode(0, as: String.self)
        guard let read = try DocumentRow(row) else { return found }
        let now = store.clock.now()
        do {
            guard try target.filter.evaluate(read.stored.document, now: now) else { return found }
        } catch {
            throw DocumentStoreError(query: error, .badFilter)
        }
        let key = WritePlan.Key(target.table.namespace, id: id)
        var plan = TablePlan(storage: storage)
        plan.hold(target.table, id: id, row: read)
        let updated = try plan.update(key, of: target, with: update, operation: operation, now: now)
        if !updated.isModified { return updated }
        guard let statement = statement(for: plan[key], over: read.stored.revision) else { return nil }
        do {
            let heads = try CommittedHead.all(from: try await store.client.query(statement))
            if heads.isEmpty { return nil }
            store.committed(heads, app: storage.app)
            return updated
        } catch let error as PostgresError where error.isWorthAnotherAttempt && !error.isUniqueViolation {
            return nil
        }
    }

    /// Returns `nil` if the document moves to another partition.
    private func statement(for document: WorkingDocument?, over revision: Revision) -> PostgresStatement? {
        guard let document, let current = document.current, document.changes.count == 1,
            let change = document.changes.first, change.moved == nil
        else { return nil }
        var plain: [UInt8] = []
        plain.reserveCapacity(current.body.count)
        PlainForm.append(current.stored.document, to: &plain)
        let names = target.table.namespace
        return PostgresStatement(
            target.table.updateOneStatement,
            [
                .text(target.table.app), .text(names.database), .text(names.collection), .text(document.id),
                .int(Int64(revision.epoch)), .int(revision.number), .text(change.partition.text),
                .text(StoredClocks.write(current.stored.clocks, ordinal: change.ordinal)), .utf8(current.body),
                .utf8(plain), .text(change.operation.rawValue),
                .text("\(DocumentStore.lockTimeout.limitMilliseconds)ms"),
            ])
    }
}

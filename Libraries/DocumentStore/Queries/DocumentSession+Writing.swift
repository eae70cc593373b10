import DocumentModel
import QueryLanguage
import SyncEngine

extension DocumentSession {
    /// One document that an update was applied to.
    struct Updated: Sendable {
        var before: Document?
        var after: Document?
        var isModified: Bool
    }

    /// Applies an update to a locked document.
    func update(
        _ key: WritePlan.Key, of target: Target, with update: Update, operation: ChangeEvent.OperationType
    ) async throws -> Updated {
        try checkSize()
        if let reviewed = target.reviewed {
            return try await self.update(key, of: target, reviewed, with: update, operation: operation)
        }
        return try plan.update(key, of: target, with: update, operation: operation, now: now)
    }

    /// Inserts the document of an upsert that found no match.
    func upsert(_ target: Target, with update: Update) async throws -> Document {
        let document: Document
        do {
            document = try update.upsertDocument(
                for: target.reviewed?.inserted ?? target.filter, now: now, makeId: RepeatableCall.newID)
        } catch {
            throw DocumentStoreError(query: error, .badUpdate)
        }
        return try await insert(document, into: target.table, isChecked: true)
    }

    /// Inserts a document; it gets an `_id` if it has none.
    ///
    /// - Parameter isChecked: Whether to search for the `_id` first; otherwise a duplicate fails the statement and the transaction.
    /// - Returns: the document as it is stored, `_id` first.
    @discardableResult
    func insert(_ document: Document, into table: CollectionTable, isChecked: Bool) async throws -> Document {
        let (document, id) = try document.storable()
        let key = WritePlan.Key(table.namespace, id: id)
        // Under review, the author is told what there is before anything else.
        if isChecked || review != nil { _ = try await lock(table, id: id) }
        if plan[key]?.current != nil {
            // Met all the same: who may not insert it is told that, and not that there is one already.
            plan.met?.append(MetDocument(namespace: table.namespace, before: nil, after: document))
            throw DocumentStoreError(duplicateId: document, in: table)
        }
        plan.hold(table, id: id, row: nil)
        _ = try write(document, over: key, in: table, description: UpdateDescription(), operation: .insert)
        return document
    }

    /// Deletes a locked document.
    func delete(
        _ key: WritePlan.Key, from table: CollectionTable, origin: ChangeEvent.Origin? = nil
    ) throws -> Document? {
        let before = plan[key]?.current?.stored.document
        _ = try write(nil, over: key, in: table, description: UpdateDescription(), operation: .delete, origin: origin)
        return before
    }
}

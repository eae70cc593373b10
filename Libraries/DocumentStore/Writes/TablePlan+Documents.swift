import DocumentModel
import QueryLanguage
import SyncEngine

extension WriteStamp {
    /// The stamp of a write by the server.
    static func server(at milliseconds: Int64) -> WriteStamp {
        WriteStamp(author: serverAuthor, time: HybridTime(milliseconds: milliseconds))
    }
}

extension Update {
    /// Applies the update to an existing document.
    func applied(
        to document: inout Document, filter: Filter, now: Int64
    ) throws(DocumentStoreError) -> UpdateDescription {
        do {
            return try apply(to: &document, filter: filter, now: now)
        } catch {
            throw DocumentStoreError(query: error, .badUpdate)
        }
    }
}

extension TablePlan {
    /// Applies an update to a document in the plan.
    ///
    /// - Parameter now: Milliseconds since 1970.
    mutating func update(
        _ key: WritePlan.Key, of target: DocumentSession.Target, with update: Update,
        operation: ChangeEvent.OperationType,
        now: Int64
    ) throws -> DocumentSession.Updated {
        guard let before = self[key]?.current?.stored.document else {
            return .init(before: nil, after: nil, isModified: false)
        }
        var after = before
        let description = try update.applied(to: &after, filter: target.filter, now: now)
        let isModified = try write(
            after, over: key, in: target.table, description: description, operation: operation, by: .server(at: now))
        return .init(before: before, after: after, isModified: isModified)
    }

    /// Replaces or removes a document in the plan.
    ///
    /// - Returns: whether anything has changed.
    mutating func write(
        _ document: Document?, over key: WritePlan.Key, in table: CollectionTable, description: UpdateDescription,
        operation: ChangeEvent.OperationType, by stamp: WriteStamp, origin: ChangeEvent.Origin? = nil
    ) throws -> Bool {
        let before = self[key]?.current
        if document != nil || before != nil {
            met?.append(MetDocument(namespace: table.namespace, before: before?.stored.document, after: document))
        }
        guard let document else {
            guard before != nil else { return false }
            record(key, as: nil, body: [], by: stamp, origin: origin)
            return true
        }
        var stored: StoredDocument
        if let before {
            if before.stored.document.isIdentical(to: document) { return false }
            stored = before.stored
            stored.clocks.record(description, in: document, by: stamp, revision: WritePlan.pending)
            stored.document = document
        } else {
            stored = StoredDocument(
                document: document, incarnation: WritePlan.pending, revision: WritePlan.pending,
                clocks: FieldClocks(inserted: stamp, revision: WritePlan.pending))
        }
        try plan.storage.check(document, in: table.namespace)
        record(key, as: stored, body: try document.checkedBody(), operation: operation, by: stamp, origin: origin)
        return true
    }
}

public import DocumentModel
public import Postgres
import QueryLanguage
import SyncEngine

/// The result of a load.
public struct LoadResult: Sendable {
    public var insertedCount: Int
    /// The documents that were left out, by their place; the others are inserted.
    public var failures: [Int: DocumentStoreError]
}

extension DocumentCollection {
    /// Inserts many documents in one transaction, for loads of data that was written elsewhere before.
    ///
    /// This is an unordered ``insertMany(_:ordered:beforeCommit:)``, except that the origin of the changes is given and the schema
    /// may be ignored. A document that can't be inserted is left out and doesn't stop the others; the load keeps the documents and
    /// their texts in memory.
    /// - Parameters:
    ///   - origin: The origin that the change events name.
    ///   - checksSchema: Whether documents that the collection's schema forbids are left out.
    ///   - beforeCommit: A ``CommitHook`` that also gets the result that is about to be committed. It runs even if no document is
    ///     left to insert, and again if the transaction is retried.
    /// - Throws: `DocumentStoreError` (`duplicateKey`) where an index other than that of `_id` refuses one of them; then nothing is
    ///   inserted, and the caller can find the document by loading smaller parts.
    public func load(
        _ documents: [Document], origin: ChangeEvent.Origin? = nil, checksSchema: Bool = true,
        beforeCommit: (@Sendable (LoadResult, PostgresTransaction) async throws -> Void)? = nil
    ) async throws -> LoadResult {
        let table = try await ensuredTable()
        var storage = try store.storage(of: app)
        if !checksSchema { storage.validate = { _, _ in nil } }
        var load = Load(table: table, origin: origin)
        for (place, document) in documents.enumerated() { load.add(document, at: place, storage: storage) }
        var attempt = 0
        while true {
            attempt += 1
            do {
                return try await commit(load, storage: storage, beforeCommit)
            } catch let error as PostgresError where error.isUniqueViolation {
                // Existing documents are searched for only now, since most loads have none.
                guard try await load.leaveOut(existing: store.client) else { throw await store.translated(error) }
            } catch let error as PostgresError where error.isWorthAnotherAttempt && attempt < 5 {
                try await Task.sleep(for: .milliseconds(Int.random(in: 1...(4 << attempt))))
            } catch let error as PostgresError {
                throw await store.translated(error)
            }
        }
    }

    private func commit(
        _ load: Load, storage: AppStorage, _ hook: (@Sendable (LoadResult, PostgresTransaction) async throws -> Void)?
    ) async throws -> LoadResult {
        var plan = TablePlan(storage: storage)
        let stamp = WriteStamp.server(at: store.clock.now())
        let clocks = FieldClocks(inserted: stamp, revision: WritePlan.pending)
        for entry in load.entries {
            plan.hold(load.table, id: entry.id, row: nil)
            plan.record(
                WritePlan.Key(namespace, id: entry.id),
                as: StoredDocument(
                    document: entry.document, incarnation: WritePlan.pending, revision: WritePlan.pending,
                    clocks: clocks),
                body: entry.body, operation: .insert, by: stamp, origin: load.origin)
        }
        let preparation = PostgresStatement(
            CommitSQL.begin, [.text("\(DocumentStore.lockTimeout.limitMilliseconds)ms")])
        let statements = plan.isEmpty ? [] : [preparation, plan.numbering] + plan.statements()
        let result = LoadResult(insertedCount: load.entries.count, failures: load.failures)
        let heads = try await store.client.withTransaction { transaction -> [CommittedHead] in
            let rows: [PostgresRows]
            if let hook {
                rows = try await transaction.pipeline(statements)
                try await hook(result, transaction)
            } else {
                rows = try await transaction.commit(with: statements)
            }
            return try rows.isEmpty ? [] : CommittedHead.all(from: rows[1])
        }
        store.committed(heads, app: app)
        return result
    }
}

/// The documents of a load that may be inserted, ready to be sent, and why the others may not.
private struct Load: Sendable {
    struct Entry: Sendable {
        let place: Int
        let id: String
        let document: Document
        let body: [UInt8]
    }

    let table: CollectionTable
    let origin: ChangeEvent.Origin?
    private(set) var entries: [Entry] = []
    private(set) var failures: [Int: DocumentStoreError] = [:]
    private var ids: Set<ExactText> = []

    init(table: CollectionTable, origin: ChangeEvent.Origin?) {
        self.table = table
        self.origin = origin
    }

    mutating func add(_ document: Document, at place: Int, storage: AppStorage) {
        do throws(DocumentStoreError) {
            let (document, id) = try document.storable()
            guard ids.insert(ExactText(id)).inserted else { throw DocumentStoreError(duplicateId: document, in: table) }
            try storage.check(document, in: table.namespace)
            entries.append(Entry(place: place, id: id, document: document, body: try document.checkedBody()))
        } catch {
            failures[place] = error
        }
    }

    /// Leaves out the documents whose `_id`s exist in the table already.
    ///
    /// - Returns: whether there were any.
    mutating func leaveOut(existing client: PostgresClient) async throws -> Bool {
        let rows = try await client.query(
            "select _id from \(table.name) where _id = any($1::text[])", [.textArray(entries.map(\.id))])
        let known = Set(try rows.decode(String.self).map { ExactText($0) })
        for entry in entries where known.contains(ExactText(entry.id)) {
            failures[entry.place] = DocumentStoreError(duplicateId: entry.document, in: table)
        }
        entries.removeAll { known.contains(ExactText($0.id)) }
        return !known.isEmpty
    }
}

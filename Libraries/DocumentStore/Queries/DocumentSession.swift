public import DocumentModel
import Foundation
public import Postgres
import QueryLanguage
import SyncEngine

/// Operations that commit together. What they write is gathered in a ``WritePlan`` and sent at the end; later operations of the
/// session see it.
public actor DocumentSession {
    nonisolated let store: DocumentStore
    nonisolated let app: String
    /// `nil` in a session that only reads.
    private let transaction: PostgresTransaction?
    private var plan: WritePlan?
    private var clock = HybridClock()

    /// A session of one read.
    init(reading store: DocumentStore, app: String) {
        self.store = store
        self.app = app
        transaction = nil
    }

    init(store: DocumentStore, storage: AppStorage, transaction: PostgresTransaction) {
        self.store = store
        self.transaction = transaction
        app = storage.app
        plan = WritePlan(storage: storage)
    }

    /// A collection whose operations belong to this session.
    public nonisolated func collection(_ namespace: ChangeEvent.Namespace) -> DocumentCollection {
        DocumentCollection(namespace: namespace, store: store, app: app, session: self)
    }

    /// Runs a statement of the caller's own in this transaction: a journal entry, an event that counts as handled.
    @discardableResult
    public func execute(_ sql: String, _ parameters: [PostgresValue] = []) async throws -> PostgresRows {
        guard let transaction else { throw DocumentStoreError(.sessionEnded, "a session that reads has no transaction") }
        return try await transaction.query(sql, parameters)
    }

    /// Takes the plan away: nothing is written after this.
    func end() -> WritePlan {
        let written = plan
        plan = nil
        return written ?? WritePlan(storage: AppStorage(app: app, syncDatabase: "", partitionKey: nil))
    }

    // MARK: Reading

    /// The largest result, in bytes of the documents' text.
    private static let maximumResultBytes = 64 << 20

    func find(_ query: FindQuery, in namespace: ChangeEvent.Namespace) async throws -> [Document] {
        var found: [Document] = []
        var bytes = 0
        // Sorting needs them all; otherwise as many as are asked for will do.
        let enough = query.sort == nil ? query.limit.map { $0 + query.skip } : nil
        try await scan(query.filter, in: namespace) { row in
            guard try query.filter.evaluate(row.document, now: Self.now) else { return true }
            bytes += row.bytes
            if bytes > Self.maximumResultBytes {
                throw DocumentStoreError(.overloaded, "the result is larger than 64 MiB; use a limit", mongoCode: 292)
            }
            found.append(row.document)
            return enough.map { found.count < $0 } ?? true
        }
        query.sort?.sort(&found)
        return Array(found.dropFirst(query.skip).prefix(query.limit ?? .max))
    }

    func count(_ filter: Filter, limit: Int?, in namespace: ChangeEvent.Namespace) async throws -> Int {
        let sql = FilterSQL(filter, partitionKey: try storage.partitionKey)
        if sql.isExact, pending(in: namespace).isEmpty {
            guard let table = try await store.tables.existing(namespace, of: app) else { return 0 }
            let rows = try await querying.query("select count(*) from \(table.name) where \(sql.text)", sql.parameters)
            let count = try rows.first?.decode(0, as: Int.self) ?? 0
            return min(count, limit ?? .max)
        }
        var count = 0
        try await scan(filter, in: namespace) { row in
            if try filter.evaluate(row.document, now: Self.now) { count += 1 }
            return limit.map { count < $0 } ?? true
        }
        return count
    }

    private struct ScannedRow {
        let document: Document
        let bytes: Int
    }

    /// Rows at a time.
    private static let page = 500

    /// Goes through the documents that may match, in the order of their keys, page by page, until `visit` says no.
    private func scan(
        _ filter: Filter, in namespace: ChangeEvent.Namespace, _ visit: (ScannedRow) throws -> Bool
    ) async throws {
        let written = pending(in: namespace)
        for document in written.values {
            if let current = document.current,
                try !visit(ScannedRow(document: current.stored.document, bytes: current.body.count))
            {
                return
            }
        }
        guard let table = try await store.tables.existing(namespace, of: app) else { return }
        let sql = FilterSQL(filter, partitionKey: try storage.partitionKey, firstParameter: 2)
        let statement = "select _id, body from \(table.name) where _id > $1 and \(sql.text) order by _id limit \(Self.page)"
        var last = ""
        while true {
            let rows = try await querying.query(statement, [.text(last)] + sql.parameters)
            for row in rows {
                last = try row.decode(0)
                if written[last] != nil { continue }
                let (document, bytes) = try row.withBytes(1) { body in
                    let body = body ?? UnsafeRawBufferPointer(start: nil, count: 0)
                    return (try ExtendedJSON.parseDocument(body), body.count)
                }
                if try !visit(ScannedRow(document: document, bytes: bytes)) { return }
            }
            if rows.count < Self.page { return }
        }
    }

    private var querying: any PostgresQuerying {
        if let transaction { transaction } else { store.client }
    }

    private var storage: AppStorage {
        get throws { try plan?.storage ?? store.storage(of: app) }
    }

    /// What this session has in hand of a collection.
    private func pending(in namespace: ChangeEvent.Namespace) -> [String: WorkingDocument] {
        guard let plan else { return [:] }
        var pending: [String: WorkingDocument] = [:]
        for document in plan.documents.values where document.table.namespace == namespace { pending[document.id] = document }
        return pending
    }

    private static var now: Int64 { Int64(Date().timeIntervalSince1970 * 1000) }

    // MARK: Writing

    func insert(_ documents: [Document], in namespace: ChangeEvent.Namespace) async throws -> [Value] {
        var complete: [(id: Value, key: String, document: Document)] = []
        for var document in documents {
            let id = document["_id"] ?? .objectId(ObjectId())
            document["_id"] = nil
            document.fields.insert(.init("_id", id), at: 0)
            complete.append((id, try Self.key(of: id), document))
        }
        let table = try await store.tables.ensured(namespace, of: try storage)
        try await lock(complete.map(\.key), of: table)
        for (id, key, document) in complete {
            try write(document, key: key, of: table, as: .insert) { existing in
                if existing != nil {
                    throw DocumentStoreError(
                        .duplicateKey,
                        "E11000 duplicate key error collection: \(namespace.database).\(namespace.collection) index: _id_ dup key: { _id: \(id) }",
                        mongoCode: 11000)
                }
            }
        }
        return complete.map(\.id)
    }

    func update(
        _ filter: Filter, _ update: Update, many: Bool, isUpsert: Bool, in namespace: ChangeEvent.Namespace
    ) async throws -> UpdateResult {
        if many, update.replacement != nil {
            throw DocumentStoreError(.badUpdate, "the update operation document must contain atomic operators", mongoCode: 9)
        }
        let table = try await store.tables.ensured(namespace, of: try storage)
        let keys = try await lockMatching(filter, sort: nil, many: many, of: table)
        var result = UpdateResult(matched: keys.count)
        for key in keys {
            if try apply(update, filter: filter, key: key, of: table) { result.modified += 1 }
        }
        if keys.isEmpty, isUpsert { result.upserted = try await upsert(filter, update, in: namespace) }
        return result
    }

    func delete(_ filter: Filter, many: Bool, in namespace: ChangeEvent.Namespace) async throws -> Int {
        guard let table = try await store.tables.existing(namespace, of: app) else { return 0 }
        let keys = try await lockMatching(filter, sort: nil, many: many, of: table)
        for key in keys { remove(key, of: table) }
        return keys.count
    }

    func findOneAndUpdate(
        _ filter: Filter, _ update: Update, sort: Sort?, isUpsert: Bool, returning: ReturnedDocument,
        in namespace: ChangeEvent.Namespace
    ) async throws -> Document? {
        let table = try await store.tables.ensured(namespace, of: try storage)
        guard let key = try await lockMatching(filter, sort: sort, many: false, of: table).first else {
            guard isUpsert else { return nil }
            let id = try await upsert(filter, update, in: namespace)
            return returning == .after ? current(try Self.key(of: id), of: table) : nil
        }
        let before = current(key, of: table)
        _ = try apply(update, filter: filter, key: key, of: table)
        return returning == .after ? current(key, of: table) : before
    }

    func findOneAndDelete(_ filter: Filter, sort: Sort?, in namespace: ChangeEvent.Namespace) async throws -> Document? {
        guard let table = try await store.tables.existing(namespace, of: app),
            let key = try await lockMatching(filter, sort: sort, many: false, of: table).first
        else { return nil }
        defer { remove(key, of: table) }
        return current(key, of: table)
    }

    // MARK: Parts of a write

    private static func key(of id: Value) throws(DocumentStoreError) -> String {
        guard let key = id.keyText, !key.utf8.contains(0) else {
            throw DocumentStoreError(.badId, "an _id is a string, ObjectId, UUID or integer", mongoCode: 2, path: "_id")
        }
        return key
    }

    private func current(_ key: String, of table: CollectionTable) -> Document? {
        plan?[WritePlan.Key(table.namespace, id: key)]?.current?.stored.document
    }

    /// Locks rows and takes them in hand, in the order of their keys: everybody's lock order.
    private func lock(_ keys: [String], of table: CollectionTable) async throws {
        guard let transaction, plan != nil else { throw DocumentStoreError(.sessionEnded, "the session has ended") }
        let unknown = Set(keys.filter { plan?[WritePlan.Key(table.namespace, id: $0)] == nil })
        if unknown.isEmpty { return }
        let sorted = unknown.sorted { ByteOrder.compare($0, $1) < 0 }
        let columns = "partition, epoch, revision, incarnation_epoch, incarnation, clocks, body"
        let rows = try await transaction.query(
            "select _id, \(columns) from \(table.name) where _id = any($1) order by _id for no key update", [.textArray(sorted)])
        var found: [String: DocumentRow] = [:]
        for row in rows { found[try row.decode(0)] = try DocumentRow(row) }
        for key in sorted { plan?.hold(table, id: key, row: found[key]) }
    }

    /// Locks the documents that match, and looks again at what they are under the lock.
    private func lockMatching(
        _ filter: Filter, sort: Sort?, many: Bool, of table: CollectionTable
    ) async throws -> [String] {
        let candidates = try await find(FindQuery(filter, sort: sort, limit: many ? nil : 1), in: table.namespace)
        let keys = try candidates.map { try Self.key(of: $0["_id"] ?? .null) }
        try await lock(keys, of: table)
        var matching: [String] = []
        for key in keys {
            guard let document = current(key, of: table), try filter.evaluate(document, now: Self.now) else { continue }
            matching.append(key)
        }
        if !many, matching.isEmpty, !keys.isEmpty {
            // The one that was found is another by now; there may be a next.
            return try await lockMatching(filter, sort: sort, many: false, of: table)
        }
        return matching
    }

    /// - Returns: whether the document changed.
    private func apply(_ update: Update, filter: Filter, key: String, of table: CollectionTable) throws -> Bool {
        guard var document = current(key, of: table) else { return false }
        let description = try update.apply(to: &document, filter: filter, now: Self.now)
        if description.isEmpty { return false }
        try write(
            document, key: key, of: table, as: update.replacement == nil ? .update : .replace, description: description)
        return true
    }

    private func upsert(_ filter: Filter, _ update: Update, in namespace: ChangeEvent.Namespace) async throws -> Value {
        let document = try update.upsertDocument(for: filter, now: Self.now)
        guard let id = try await insert([document], in: namespace).first else {
            throw DocumentStoreError(.badUpdate, "an upsert made no document")
        }
        return id
    }

    private func write(
        _ document: Document, key: String, of table: CollectionTable, as operation: ChangeEvent.OperationType,
        description: UpdateDescription? = nil, check: (StoredDocument?) throws -> Void = { _ in }
    ) throws {
        let planKey = WritePlan.Key(table.namespace, id: key)
        let existing = plan?[planKey]?.current?.stored
        try check(existing)
        var body: [UInt8] = []
        ExtendedJSON.append(document, to: &body)
        guard body.count <= DocumentStore.maximumDocumentBytes else {
            throw DocumentStoreError(.documentTooLarge, "a document has at most 16 MiB", mongoCode: 10334)
        }
        let stamp = WriteStamp(author: WriteStamp.serverAuthor, time: clock.tick(milliseconds: Self.now))
        let stored: StoredDocument
        if var changed = existing {
            changed.document = document
            if let description {
                changed.clocks.record(description, in: document, by: stamp, revision: WritePlan.pending)
            }
            stored = changed
        } else {
            stored = StoredDocument(
                document: document, incarnation: WritePlan.pending, revision: WritePlan.pending,
                clocks: FieldClocks(inserted: stamp, revision: WritePlan.pending))
        }
        plan?.record(planKey, as: stored, body: body, operation: operation, by: stamp)
    }

    private func remove(_ key: String, of table: CollectionTable) {
        let stamp = WriteStamp(author: WriteStamp.serverAuthor, time: clock.tick(milliseconds: Self.now))
        plan?.record(WritePlan.Key(table.namespace, id: key), as: nil, body: [], by: stamp)
    }
}

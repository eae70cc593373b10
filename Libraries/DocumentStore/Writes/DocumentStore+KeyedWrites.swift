import DocumentModel
public import Postgres
import QueryLanguage
import SyncEngine

extension DocumentStore {
    /// Commits writes of different documents, and statements of the caller with them. It takes one round trip to Postgres, and another one
    /// if there are documents to update or delete, which are locked first.
    /// - Parameters:
    ///   - writes: At most one for each document.
    ///   - statements: They run after the writes, in the same transaction.
    ///   - lockTimeout: How long it waits for a lock that another transaction has.
    ///   - refusal: What an error of the caller's statements means, which is thrown then; `nil` for errors of any transaction.
    /// - Returns: the rows of the caller's statements.
    /// - Throws: `DocumentStoreError`, with the code `conflict` if a lock couldn't be acquired or two writes are of the same document; a
    ///   refusal; `PostgresError`. Then nothing is written, unless the error says that the outcome is unknown.
    public func commit(
        _ writes: [KeyedWrite], app: String, with statements: [PostgresStatement], lockTimeout: Duration,
        refusal: (PostgresError) -> (any Error)?
    ) async throws -> [PostgresRows] {
        let storage = try storage(of: app), tables = try await tables(of: writes, storage)
        return try await translating(refusal) {
            let (rows, heads) = try await client.withTransaction { transaction in
                try await commit(
                    writes, to: tables, storage, with: statements, after: [Self.begin(lockTimeout)], in: transaction)
            }
            committed(heads, app: app)
            return rows
        }
    }

    /// Commits like ``commit(_:app:with:lockTimeout:refusal:)`` what is decided while nobody else can write in the partition: for a writer
    /// whose decisions others have overtaken again and again.
    /// - Parameters:
    ///   - expected: Writes of documents that it is likely to write: these are locked before the partition, as other writers do it.
    ///   - limit: How long the decision may take; afterwards nothing is committed.
    ///   - decide: What is to be committed. It may read, but must not write documents by another connection.
    public nonisolated(nonsending) func commitExclusively(
        in partition: Partition, app: String, expecting expected: [KeyedWrite], lockTimeout: Duration, limit: Duration,
        refusal: (PostgresError) -> (any Error)?,
        _ decide: nonisolated(nonsending) () async throws -> (writes: [KeyedWrite], statements: [PostgresStatement])
    ) async throws -> [PostgresRows] {
        let storage = try storage(of: app), locks = Self.locks(expected, try await tables(of: expected, storage))
        var undecided: (any Error)?
        return try await translating {
            // Errors of the decision are its own.
            undecided ?? refusal($0)
        } _: {
            let (rows, heads) = try await client.withTransaction { transaction in
                _ = try await transaction.pipeline(
                    [
                        Self.begin(lockTimeout),
                        PostgresStatement(
                            "select set_config('idle_in_transaction_session_timeout', $1, true)",
                            [.text("\(limit.limitMilliseconds)ms")]),
                    ] + locks.map(\.statement) + [
                        PostgresStatement(
                            "select from partita.partitions where app = $1 and partition = $2 for no key update",
                            [.text(app), .text(partition.text)])
                    ])
                let (writes, statements): ([KeyedWrite], [PostgresStatement])
                do { (writes, statements) = try await decide() } catch {
                    undecided = error
                    throw error
                }
                return try await commit(
                    writes, to: try await tables(of: writes, storage), storage, with: statements, after: [],
                    in: transaction)
            }
            committed(heads, app: app)
            return rows
        }
    }

    /// The tables that are written.
    /// - Throws: `DocumentStoreError` (`conflict`) if two writes are of the same document.
    private nonisolated(nonsending) func tables(
        of writes: [KeyedWrite], _ storage: AppStorage
    ) async throws -> [ChangeEvent.Namespace: CollectionTable] {
        var tables: [ChangeEvent.Namespace: CollectionTable] = [:], keys: Set<WritePlan.Key> = []
        for write in writes {
            guard keys.insert(WritePlan.Key(write.namespace, id: write.id)).inserted else {
                throw DocumentStoreError(.conflict, "two writes are of the same document", mongoCode: 112)
            }
            if tables[write.namespace] != nil { continue }
            tables[write.namespace] = try await self.tables.indexed(self.tables.ensured(write.namespace, of: storage))
        }
        return tables
    }

    private nonisolated(nonsending) func translating<R>(
        _ refusal: (PostgresError) -> (any Error)?, _ body: nonisolated(nonsending) () async throws -> R
    ) async throws -> R {
        do {
            return try await body()
        } catch let error as PostgresError {
            if let refusal = refusal(error) { throw refusal }
            if error.isUniqueViolation { throw await translated(error) }
            guard error.isWorthAnotherAttempt else { throw error }
            throw DocumentStoreError(
                .conflict, "another writer changes the same documents", mongoCode: 112, underlying: error)
        }
    }

    private static func begin(_ lockTimeout: Duration) -> PostgresStatement {
        PostgresStatement(UploadSQL.begin, [.text("\(lockTimeout.limitMilliseconds)ms")])
    }

    /// - Parameters:
    ///   - statements: The caller's, after the writes.
    ///   - first: What is sent before them.
    /// - Returns: the rows of the caller's statements, and the heads of the partitions that were written.
    private nonisolated(nonsending) func commit(
        _ writes: [KeyedWrite], to tables: [ChangeEvent.Namespace: CollectionTable], _ storage: AppStorage,
        with statements: [PostgresStatement], after first: [PostgresStatement], in transaction: PostgresTransaction
    ) async throws -> (rows: [PostgresRows], heads: [CommittedHead]) {
        var plan = TablePlan(storage: storage), first = first
        let locks = Self.locks(writes, tables)
        if !locks.isEmpty {
            let found = try await transaction.pipeline(first + locks.map(\.statement)).dropFirst(first.count)
            first = []
            for (rows, (table, _)) in zip(found, locks) {
                for row in rows { plan.hold(table, id: try row.decode(0), row: try DocumentRow(row)) }
            }
        }
        let now = clock.now()
        for write in writes {
            if let table = tables[write.namespace] { try plan.add(write, in: table, now: now) }
        }
        try plan.checkSize(maximumTransactionBytes)
        let own = first + (plan.isEmpty ? [] : [plan.numbering] + plan.statements())
        let rows = try await transaction.commit(with: own + statements)
        return (Array(rows[own.count...]), plan.isEmpty ? [] : try CommittedHead.all(from: rows[first.count]))
    }

    /// The statements that lock the documents to update or delete, one for each table.
    private static func locks(
        _ writes: [KeyedWrite], _ tables: [ChangeEvent.Namespace: CollectionTable]
    ) -> [(table: CollectionTable, statement: PostgresStatement)] {
        var ids: [ChangeEvent.Namespace: [String]] = [:]
        for write in writes {
            if case .insert = write.change { continue }
            ids[write.namespace, default: []].append(write.id)
        }
        return ids.compactMap { namespace, ids in
            tables[namespace].map { ($0, ids) }
        }.sorted { ByteOrder.compare($0.0.name, $1.0.name) < 0 }.map { table, ids in
            let sql = """
                select \(DocumentRow.columns) from \(table.name) t where t._id = any($1::text[]) order by t._id
                for no key update
                """
            return (table, PostgresStatement(sql, [.textArray(ids)]))
        }
    }
}

extension TablePlan {
    /// Adds a write; one of a document that has to be there has it in the plan already, if its table has it.
    fileprivate mutating func add(_ write: KeyedWrite, in table: CollectionTable, now: Int64) throws {
        let key = WritePlan.Key(table.namespace, id: write.id), stamp = WriteStamp.server(at: now)
        switch write.change {
        case .insert(let document):
            if self[key]?.current != nil { throw DocumentStoreError(duplicateId: document, in: table) }
            hold(table, id: write.id, row: nil)
            _ = try self.write(
                try document.storable().document, over: key, in: table, description: UpdateDescription(),
                operation: .insert, by: stamp)
        case .update(let operators):
            guard let before = self[key]?.current, before.partition == write.partition else { return }
            var after = before.stored.document
            let description = try Update(storing: operators).applied(to: &after, filter: .all, now: now)
            _ = try self.write(
                after, over: key, in: table, description: description, operation: .update, by: stamp)
        case .delete:
            guard let before = self[key]?.current, before.partition == write.partition else { return }
            _ = try self.write(
                nil, over: key, in: table, description: UpdateDescription(), operation: .delete, by: stamp)
        }
    }
}

extension Update {
    /// - Throws: `DocumentStoreError` (`badUpdate`).
    fileprivate init(storing operators: Document) throws(DocumentStoreError) {
        do { try self.init(operators) } catch { throw DocumentStoreError(query: error, .badUpdate) }
    }
}

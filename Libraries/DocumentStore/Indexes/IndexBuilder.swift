import DocumentModel
import Postgres

/// Creates and drops the Postgres indexes of a collection.
///
/// They are built concurrently, which isn't possible in a transaction. So each step leaves a state that the next attempt
/// recognises: a row that isn't ready says that the relations under its names have to be dropped.
struct IndexBuilder: Sendable {
    let client: PostgresClient
    let table: CollectionTable

    private struct Row {
        /// The row's name: that of the index, with a mark while it isn't the index of this name.
        @ExactText var name: String
        var model: IndexModel
        var relation: String
        var elements: String?
        var isReady: Bool
    }

    private var place: [PostgresValue] {
        [.text(table.app), .text(table.namespace.database), .text(table.namespace.collection)]
    }

    /// What marks the row of an index that is built for a definition that isn't deployed yet, after its name.
    static let staged = " (staged)"
    /// What marks the row of an index that only the former definition had, until it is dropped.
    static let gone = " (gone)"

    func create(_ model: IndexModel) async throws {
        try await alone { connection in
            let rows = try await rows(connection)
            if let conflict = try Self.conflict(of: model, with: rows.filter(\.isReady).map(\.model)) {
                return try conflict.get()
            }
            if let half = rows.first(where: { $0.name.hasSameBytes(as: model.name) }) {
                try await remove(half, on: connection)
            }
            try await build(model, suffix: "", on: connection)
            try await connection.execute(
                """
                update partita.indexes set is_ready = true
                where app = $1 and database = $2 and collection = $3 and name = $4
                """, place + [.text(model.name)])
        }
    }

    /// Builds indexes that no reader uses before they are adopted.
    /// - Parameters:
    ///   - models: those that the collection is to have.
    ///   - gone: the names of indexes that it isn't to have any more.
    func stage(_ models: [IndexModel], without gone: [String]) async throws {
        try await alone { connection in
            let rows = try await rows(connection)
            var present = rows.filter { $0.isReady && !gone.containsExactly($0.name) }.map(\.model)
            for model in models {
                if let conflict = try Self.conflict(of: model, with: present) {
                    try conflict.get()
                    continue
                }
                if let half = rows.first(where: { $0.name.hasSameBytes(as: model.name + Self.staged) }) {
                    try await remove(half, on: connection)
                }
                try await build(model, suffix: Self.staged, on: connection)
                present.append(model)
            }
        }
    }

    /// Drops what was staged and not adopted, and what is gone.
    func clear() async throws {
        try await alone { connection in
            for row in try await rows(connection)
            where !row.isReady && (row.name.hasSuffix(Self.staged) || row.name.hasSuffix(Self.gone)) {
                try await remove(row, on: connection)
            }
        }
    }

    /// Builds an index whose row isn't ready.
    /// - Parameter suffix: of the row's name.
    private func build(_ model: IndexModel, suffix: String, on connection: PostgresConnection) async throws {
        // An index of the same name may be there beside a staged one.
        let mark = suffix.isEmpty ? "" : "$\(ObjectId().hexString)"
        let relation = try await identifier("\(table.namespace.collection)$\(model.name)\(mark)", on: connection)
        let hasElements = model.isSorted && !model.isUnique && model.expireAfterSeconds == nil
        let elements =
            hasElements
            ? try await identifier("\(table.namespace.collection)$\(model.name)\(mark)$elements", on: connection) : nil
        let index = try CollectionIndex(model, relation: relation, elements: elements)
        let trigrams = model.trigramPath == nil ? "" : try await TrigramPlan.operatorClass(on: connection)
        try await connection.execute(
            """
            insert into partita.indexes (app, database, collection, name, specification, relation, elements)
            values ($1, $2, $3, $4, $5, $6, $7)
            """,
            place + [
                .text(model.name + suffix), .json(ExtendedJSON.print(.document(model.document))), .text(relation),
                PostgresValue(elements),
            ])
        do {
            for statement in index.building(table, trigrams: trigrams) {
                try await connection.runScript(statement, isCancellable: true)
            }
        } catch {
            let half = Row(
                name: model.name + suffix, model: model, relation: relation, elements: elements, isReady: false)
            // In a task of its own: this one may be cancelled. If the removal fails, the next attempt recognises the unfinished index.
            await Task { try? await remove(half, on: connection) }.value
            if let error = error as? PostgresError, error.isUniqueViolation {
                throw DocumentStoreError(duplicate: error, of: model, in: table)
            }
            throw error
        }
    }

    func drop(_ name: String) async throws {
        try await alone { connection in
            guard let row = try await rows(connection).first(where: { $0.name.hasSameBytes(as: name) }) else {
                throw DocumentStoreError(.unknownIndex, "index not found with name [\(name)]", mongoCode: 27)
            }
            try await remove(row, on: connection)
        }
    }

    func names() async throws -> [String] { try await rows(client).map(\.name) }

    // MARK: How

    /// Runs `body` with a connection that has no time limit, while no other process changes the table's indexes.
    private func alone(_ body: @Sendable (PostgresConnection) async throws -> Void) async throws {
        do {
            try await client.withConnection { connection in
                try await connection.runScript("set statement_timeout = 0")
                try await lock(on: connection)
                let result: Result<Void, any Error>
                do {
                    result = .success(try await body(connection))
                } catch {
                    result = .failure(error)
                }
                try await connection.runScript("select pg_advisory_unlock_all(); reset statement_timeout")
                try result.get()
            }
        } catch let error as PostgresError {
            throw DocumentStoreError(error, in: table)
        }
    }

    /// Polls for the lock: a statement that waits for it would hold a snapshot, and a concurrent build would wait for that
    /// snapshot.
    private func lock(on connection: PostgresConnection) async throws {
        while true {
            let rows = try await connection.query(
                "select pg_try_advisory_lock(hashtextextended('partita.indexes ' || $1, 0))", [.text(table.name)])
            if try rows.first?.decode(0, as: Bool.self) == true { return }
            try await Task.sleep(for: .milliseconds(Int.random(in: 20...60)))
        }
    }

    private func rows(_ source: some PostgresQuerying) async throws -> [Row] {
        try await source.query(
            """
            select name, specification::text, relation, elements, is_ready from partita.indexes
            where app = $1 and database = $2 and collection = $3 order by created_at, name
            """, place
        ).map { row in
            let (name, text, relation, elements, isReady) = try row.decode((String, String, String, String?, Bool).self)
            return Row(
                name: name, model: try IndexModel(ExtendedJSON.parseDocument(text)), relation: relation,
                elements: elements,
                isReady: isReady)
        }
    }

    /// Compares an index with the existing ones: it can be created, exists already, or can't be created, and why.
    private static func conflict(
        of model: IndexModel, with present: [IndexModel]
    ) throws -> Result<Void, DocumentStoreError>? {
        if model.name == "_id_" || model.keyPattern == ["_id": 1] { return .success(()) }
        if let same = present.first(where: { $0.name.hasSameBytes(as: model.name) }) {
            if same.isEquivalent(to: model) { return .success(()) }
            return .failure(
                DocumentStoreError(
                    .badIndex,
                    "An existing index has the same name as the requested index, and other keys or options: \(model.name)",
                    mongoCode: 86))
        }
        for other in present
        where other.keyPattern == model.keyPattern && other.partialFilter == model.partialFilter {
            return .failure(
                DocumentStoreError(
                    .badIndex, "Index already exists with a different name: \(other.name)", mongoCode: 85))
        }
        if model.text != nil, present.contains(where: { $0.text != nil }) {
            return .failure(
                DocumentStoreError(.badIndex, "only one text index per collection allowed", mongoCode: 67))
        }
        return nil
    }

    private func remove(_ row: Row, on connection: PostgresConnection) async throws {
        try await connection.execute(
            "update partita.indexes set is_ready = false where app = $1 and database = $2 and collection = $3 and name = $4",
            place + [.text(row.name)])
        for name in [row.relation, row.elements].compactMap({ $0 }) {
            try await connection.runScript(
                "drop index concurrently if exists \(table.schema).\(name.postgresIdentifier)")
        }
        try await connection.execute(
            "delete from partita.indexes where app = $1 and database = $2 and collection = $3 and name = $4",
            place + [.text(row.name)])
    }

    /// A name for a relation. It contains `$`, which isn't allowed in a collection's name, so it can't be a table's name.
    private func identifier(_ name: String, on connection: PostgresConnection) async throws -> String {
        try await connection.query("select partita.identifier($1)", [.text(name)]).first?.decode(0) ?? name
    }
}

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
        var model: IndexModel
        var relation: String
        var elements: String?
        var isReady: Bool
    }

    private var place: [PostgresValue] {
        [.text(table.app), .text(table.namespace.database), .text(table.namespace.collection)]
    }

    func create(_ model: IndexModel) async throws {
        try await alone { connection in
            let rows = try await rows(connection)
            if let conflict = try Self.conflict(of: model, with: rows.filter(\.isReady)) { return try conflict.get() }
            if let half = rows.first(where: { $0.model.name.hasSameBytes(as: model.name) }) {
                try await remove(half, on: connection)
            }
            let relation = try await identifier("\(table.namespace.collection)$\(model.name)", on: connection)
            let hasElements = !model.isUnique && model.text == nil && model.expireAfterSeconds == nil
            let elements =
                hasElements
                ? try await identifier("\(table.namespace.collection)$\(model.name)$elements", on: connection) : nil
            let index = try CollectionIndex(model, relation: relation, elements: elements)
            try await connection.execute(
                """
                insert into partita.indexes (app, database, collection, name, specification, relation, elements)
                values ($1, $2, $3, $4, $5, $6, $7)
                """,
                place + [
                    .text(model.name), .json(ExtendedJSON.print(.document(model.document))), .text(relation),
                    PostgresValue(elements),
                ])
            do {
                for statement in index.building(table) { try await connection.runScript(statement) }
                try await connection.execute(
                    """
                    update partita.indexes set is_ready = true
                    where app = $1 and database = $2 and collection = $3 and name = $4
                    """, place + [.text(model.name)])
            } catch {
                // If the removal fails, the next attempt recognises the unfinished index.
                try? await remove(
                    Row(model: model, relation: relation, elements: elements, isReady: false), on: connection)
                if let error = error as? PostgresError, error.isUniqueViolation {
                    throw DocumentStoreError(duplicate: error, of: model, in: table)
                }
                throw error
            }
        }
    }

    func drop(_ name: String) async throws {
        try await alone { connection in
            guard let row = try await rows(connection).first(where: { $0.model.name.hasSameBytes(as: name) }) else {
                throw DocumentStoreError(.unknownIndex, "index not found with name [\(name)]", mongoCode: 27)
            }
            try await remove(row, on: connection)
        }
    }

    func names() async throws -> [String] { try await rows(client).map(\.model.name) }

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
            select specification::text, relation, elements, is_ready from partita.indexes
            where app = $1 and database = $2 and collection = $3 order by created_at, name
            """, place
        ).map { row in
            let (text, relation, elements, isReady) = try row.decode((String, String, String?, Bool).self)
            return Row(
                model: try IndexModel(ExtendedJSON.parseDocument(text)), relation: relation, elements: elements,
                isReady: isReady)
        }
    }

    /// Compares an index with the existing ones: it can be created, exists already, or can't be created, and why.
    private static func conflict(
        of model: IndexModel, with rows: [Row]
    ) throws -> Result<Void, DocumentStoreError>? {
        if model.name == "_id_" || model.keyPattern == ["_id": 1] { return .success(()) }
        if let same = rows.first(where: { $0.model.name.hasSameBytes(as: model.name) }) {
            if same.model.isEquivalent(to: model) { return .success(()) }
            return .failure(
                DocumentStoreError(
                    .badIndex,
                    "An existing index has the same name as the requested index, and other keys or options: \(model.name)",
                    mongoCode: 86))
        }
        for other in rows
        where other.model.keyPattern == model.keyPattern && other.model.partialFilter == model.partialFilter {
            return .failure(
                DocumentStoreError(
                    .badIndex, "Index already exists with a different name: \(other.model.name)", mongoCode: 85))
        }
        if model.text != nil, rows.contains(where: { $0.model.text != nil }) {
            return .failure(
                DocumentStoreError(.badIndex, "only one text index per collection allowed", mongoCode: 67))
        }
        return nil
    }

    private func remove(_ row: Row, on connection: PostgresConnection) async throws {
        try await connection.execute(
            "update partita.indexes set is_ready = false where app = $1 and database = $2 and collection = $3 and name = $4",
            place + [.text(row.model.name)])
        for name in [row.relation, row.elements].compactMap({ $0 }) {
            try await connection.runScript(
                "drop index concurrently if exists \(table.schema).\(name.postgresIdentifier)")
        }
        try await connection.execute(
            "delete from partita.indexes where app = $1 and database = $2 and collection = $3 and name = $4",
            place + [.text(row.model.name)])
    }

    /// A name for a relation. It contains `$`, which isn't allowed in a collection's name, so it can't be a table's name.
    private func identifier(_ name: String, on connection: PostgresConnection) async throws -> String {
        try await connection.query("select partita.identifier($1)", [.text(name)]).first?.decode(0) ?? name
    }
}

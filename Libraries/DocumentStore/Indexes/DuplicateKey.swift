import DocumentModel
import Logging
import Postgres

extension DocumentStoreError {
    /// MongoDB's E11000, with the index and the values that already exist.
    init(duplicate error: PostgresError, in table: CollectionTable?) {
        if let table, let id = IndexKey.id(inDetail: error.detail ?? "") {
            self.init(
                duplicateIn: table, index: "_id_", keyPattern: ["_id": 1], keyValue: ["_id": id], underlying: error)
            return
        }
        guard let table, let constraint = error.constraint,
            let index = table.indexes.first(where: { $0.relation.hasSameBytes(as: constraint) })
        else {
            self.init(.duplicateKey, "E11000 duplicate key error", mongoCode: 11000, underlying: error)
            return
        }
        self.init(duplicate: error, of: index.model, in: table)
    }

    init(duplicate error: PostgresError, of model: IndexModel, in table: CollectionTable) {
        var keyValue = Document()
        for (key, value) in zip(model.keys, IndexKey.values(inDetail: error.detail ?? "")) {
            keyValue[key.path] = value
        }
        self.init(
            duplicateIn: table, index: model.name, keyPattern: model.keyPattern, keyValue: keyValue, underlying: error)
    }

    init(
        duplicateIn table: CollectionTable, index: String, keyPattern: Document, keyValue: Document,
        underlying: (any Error)? = nil
    ) {
        let shown = keyValue.fields.map { "\($0.key): \(ExtendedJSON.print($0.value, mode: .relaxed))" }
        self.init(
            .duplicateKey,
            "E11000 duplicate key error collection: \(table.namespace.database).\(table.namespace.collection) "
                + "index: \(index) dup key: { \(shown.joined(separator: ", ")) }",
            mongoCode: 11000, path: keyPattern.fields.first?.key,
            details: ["keyPattern": .document(keyPattern), "keyValue": .document(keyValue)], underlying: underlying)
    }
}

extension DocumentStore {
    /// The error for the caller of an operation that failed in Postgres; that of a duplicate key names the index.
    func translated(_ error: PostgresError) async -> DocumentStoreError {
        if error.failureClass == .broken {
            let level: Logger.Level = failures.withLock { $0.isNew("\(error)") } ? .error : .debug
            logger.log(level: level, "the database has to be repaired", metadata: ["error": "\(error)"])
        }
        guard error.isUniqueViolation, let schema = error.schema, let name = error.table,
            let table = tables.known(schema: schema, table: name)
        else { return DocumentStoreError(error) }
        let isKnown = table.indexes.contains { error.constraint.map($0.relation.hasSameBytes) == true }
        // If the refresh fails, the error only lacks the index's details.
        if !isKnown { try? await tables.refreshIndexes(of: table) }
        return DocumentStoreError(error, in: table)
    }
}

public import DocumentModel
import Postgres

extension DocumentCollection {
    /// Creates an index unless it exists already, and returns its name.
    @discardableResult
    public func createIndex(_ index: IndexModel) async throws -> String {
        try await createIndexes([index]).first ?? index.name
    }

    /// Creates indexes one after the other without blocking writers, and returns their names.
    ///
    /// An index that exists already under its name is left unchanged. Two callers may create indexes at once. An index that fails
    /// leaves nothing behind; those before it stay.
    /// - Throws: `DocumentStoreError` with MongoDB's code: 11000 where the documents have duplicates, 85 or 86 if a different index
    ///   exists under the name or on the same paths.
    @discardableResult
    public func createIndexes(_ indexes: [IndexModel]) async throws -> [String] {
        if session != nil {
            throw DocumentStoreError(.notSupported, "an index can't be made in a transaction", mongoCode: 263)
        }
        for index in indexes { try index.check() }
        let table = try await ensuredTable()
        let builder = IndexBuilder(client: store.client, table: table)
        for index in indexes { try await builder.create(index) }
        try await store.tables.refreshIndexes(of: table)
        return indexes.map(\.name)
    }

    /// The indexes of the collection, the one on `_id` first.
    public func indexes() async throws -> [IndexModel] {
        guard let table = try await table() else { return [] }
        try await store.tables.refreshIndexes(of: table)
        return [IndexModel([.init("_id")], name: "_id_")] + table.declaredIndexes
    }

    /// The indexes in the form of MongoDB's `listIndexes`.
    public func listIndexes() async throws -> [Document] { try await indexes().map(\.document) }

    /// Drops an index by its name; `*` drops all but the one on `_id`.
    ///
    /// - Throws: `DocumentStoreError` (`unknownIndex`, 27; 72 for the index on `_id`).
    public func dropIndex(_ name: String) async throws {
        if name == "_id_" { throw DocumentStoreError(.badIndex, "cannot drop _id index", mongoCode: 72) }
        guard let table = try await table() else {
            throw DocumentStoreError(
                .unknownCollection, "ns not found \(namespace.database).\(namespace.collection)", mongoCode: 26)
        }
        let builder = IndexBuilder(client: store.client, table: table)
        for each in name == "*" ? try await builder.names() : [name] { try await builder.drop(each) }
        try await store.tables.refreshIndexes(of: table)
    }

    /// Drops the index on these paths.
    public func dropIndex(keys: Document) async throws {
        guard let index = try await indexes().first(where: { $0.keyPattern == keys }) else {
            throw DocumentStoreError(.unknownIndex, "can't find index with key: \(keys)", mongoCode: 27)
        }
        try await dropIndex(index.name)
    }
}

public import DocumentModel
public import Postgres

extension DocumentCollection {
    /// A number that a document has from its insert to its deletion, in whichever partition it is: one that is inserted under the same
    /// `_id` later has a greater one.
    ///
    /// - Parameter transaction: Where to read; `nil` for a read of its own.
    /// - Returns: `nil` when there is no such document.
    public func insertionNumber(of id: Value, in transaction: PostgresTransaction? = nil) async throws -> Int64? {
        guard let text = id.storableId else { return nil }
        guard let transaction else { return try await insertionNumbers(of: [text])[ExactText(text)] }
        guard let statement = try await insertionStatement([text]) else { return nil }
        return try await transaction.query(statement.sql, statement.parameters).first?.decode(1)
    }

    /// The insertion numbers of the documents with these texts of `_id`s, as far as they exist.
    public func insertionNumbers(of ids: [String]) async throws -> [ExactText: Int64] {
        guard let statement = try await insertionStatement(ids) else { return [:] }
        var numbers: [ExactText: Int64] = [:]
        for row in try await store.client.query(statement.sql, statement.parameters) {
            numbers[ExactText(try row.decode(0, as: String.self))] = try row.decode(1)
        }
        return numbers
    }

    /// A document and its insertion number, by one statement of a transaction: as they are at this moment, unless the transaction
    /// reads from a snapshot.
    /// - Returns: `nil` when there is no such document.
    public func numbered(
        _ id: Value, in transaction: PostgresTransaction
    ) async throws -> (document: Document, insertion: Int64)? {
        guard let text = id.storableId, let statement = try await insertionStatement([text], and: ", body") else {
            return nil
        }
        guard let row = try await transaction.query(statement.sql, statement.parameters).first else { return nil }
        return (try row.document(2), try row.decode(1))
    }

    /// `nil` for a collection without a table.
    private func insertionStatement(_ ids: [String], and columns: String = "") async throws -> PostgresStatement? {
        guard let table = try await table() else { return nil }
        return PostgresStatement(
            "select _id, natural_order\(columns) from \(table.name) where _id = any($1::text[])", [.textArray(ids)])
    }
}

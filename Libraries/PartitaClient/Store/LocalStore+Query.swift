import DocumentModel
import QueryLanguage
import SQLite
import SyncEngine

extension LocalStore {
    /// The server's document; `nil` when there is none.
    static func serverDocument(
        _ partition: Partition, _ key: DocumentKey, in database: isolated SQLiteDatabase
    ) throws -> ServerDocument? {
        let rows = try database.query(
            "SELECT body, revision, incarnation FROM documents WHERE partition = ? AND collection = ? AND id = ?",
            [.text(partition.text), .text(key.collection), .text(key.idText)])
        return try rows.first.map { row in
            ServerDocument(
                document: try document(try row.decode(0)), incarnation: try row.revision(2),
                revision: try row.revision(1))
        }
    }

    func serverDocument(_ partition: Partition, _ key: DocumentKey) throws -> ServerDocument? {
        try read { try Self.serverDocument(partition, key, in: $0) }
    }

    /// The document as the app sees it.
    func shownDocument(_ partition: Partition, _ key: DocumentKey) throws -> Document? {
        let place: [SQLiteValue] = [.text(partition.text), .text(key.collection), .text(key.idText)]
        return try read { database in
            let shown = try database.query(
                "SELECT body FROM shown WHERE partition = ? AND collection = ? AND id = ?", place)
            if let row = shown.first {
                let body: String? = try row.decode(0)
                return try body.map(Self.document)
            }
            let server = try database.query(
                "SELECT body FROM documents WHERE partition = ? AND collection = ? AND id = ?", place)
            return try server.first.map { try Self.document(try $0.decode(0)) }
        }
    }

    /// The documents of a collection that match, as the app sees them, sorted by the texts of their `_id`s.
    func shownDocuments(
        _ partition: Partition, collection: String, where filter: Filter
    ) throws -> [(key: DocumentKey, document: Document)] {
        let sql = """
            SELECT id, body FROM documents AS server WHERE partition = ?1 AND collection = ?2 AND NOT EXISTS (
                SELECT 1 FROM shown WHERE partition = ?1 AND collection = ?2 AND id = server.id)
            UNION ALL
            SELECT id, body FROM shown WHERE partition = ?1 AND collection = ?2 AND body IS NOT NULL
            ORDER BY id
            """
        let matching = try read { database in
            var matching: [MatchingDocument] = []
            try database.forEach(sql, [.text(partition.text), .text(collection)]) { row in
                let document = try Self.document(try row.decode(1))
                guard filter.matches(document, now: SyncClient.milliseconds) else { return }
                matching.append(MatchingDocument(idText: try row.decode(0), document: document))
            }
            return matching
        }
        return matching.map { (DocumentKey(collection: collection, idText: $0.idText), $0.document) }
    }

    private struct MatchingDocument: Sendable {
        var idText: String
        var document: Document
    }

    private static func document(_ body: String) throws -> Document {
        do {
            return try ExtendedJSON.parseDocument(body)
        } catch {
            throw PartitaError(code: .store, message: "a stored document can't be read: \(error)")
        }
    }
}

import DocumentModel
import Postgres

/// A document in Postgres.
struct ChaosRow: Sendable {
    let collection: String
    let team: String
    let revision: Int64
    let document: Document

    var id: String { document["_id"]?.stringValue ?? "" }

    static func name(_ collection: String, _ document: Document) -> String {
        "\(collection)/\(document["_id"]?.idText ?? "")"
    }

    /// All documents that devices may have.
    static func all(_ tool: Tool) async throws -> [ChaosRow] {
        var rows: [ChaosRow] = []
        for collection in ChaosApp.synced {
            let table = "\(ChaosApp.schema).\"\(collection)\""
            // A table is made with the first document.
            guard try await tool.postgres.hasTable(table) else { continue }
            let found = try await tool.postgres.query(
                "select partition, revision, body::text from \(table) order by _id")
            for (partition, revision, body) in try found.decode((String, Int64, String).self) {
                rows.append(
                    ChaosRow(
                        collection: collection, team: String(partition.dropFirst(2)), revision: revision,
                        document: try ExtendedJSON.parseDocument(body)))
            }
        }
        return rows
    }
}

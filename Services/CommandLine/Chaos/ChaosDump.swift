import DocumentModel
import Foundation

/// What a device shows of one partition.
struct ChaosDump: Sendable {
    let team: String
    /// How many of its writes aren't in what the server sent yet.
    let pending: Int64
    /// The writes that the server rejected, with the reasons.
    let rejected: [String]
    /// The printed documents by collection and id, as `collection/id`.
    var documents: [String: String] = [:]

    /// The partitions in a device's file; none until there is one.
    static func all(in file: String) throws -> [ChaosDump] {
        guard FileManager.default.fileExists(atPath: file) else { return [] }
        var dumps: [ChaosDump] = []
        for line in try String(contentsOfFile: file, encoding: .utf8).split(separator: "\n") {
            let document = try ExtendedJSON.parseDocument(String(line))
            if let team = document["team"]?.stringValue {
                dumps.append(
                    ChaosDump(
                        team: team, pending: document["pending"]?.int64Value ?? -1,
                        rejected: document["rejected"]?.arrayValue?.compactMap(\.stringValue) ?? []))
            } else if let collection = document["collection"]?.stringValue,
                let shown = document["document"]?.documentValue
            {
                dumps[dumps.count - 1].documents[ChaosRow.name(collection, shown)] = ExtendedJSON.print(shown)
            }
        }
        return dumps
    }
}

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
            guard
                try await tool.postgres.query("select to_regclass($1) is not null", [.text(table)]).first?.decode(0)
                    == true
            else { continue }
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

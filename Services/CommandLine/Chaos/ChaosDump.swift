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

import DocumentModel
import PartitaClient
import Postgres

/// A journey's checks and changes directly in Postgres.
struct DemoCheck: Sendable {
    let stage: DemoStage
    let database: String
    /// The collections that devices have.
    let collections: [String]
    private var configuration: LocalConfiguration { stage.configuration }
    private var schema: String { "\"\(stage.app)/\(database)\"" }

    /// Compares the devices' documents with the tables, document by document, once nothing is in flight any more.
    func compare(_ handles: [(DemoPerson, PartitionHandle)]) async throws {
        try await Tool.run(configuration) { tool in
            for (device, handle) in handles {
                var difference = ""
                do {
                    try await eventually("\(device.name) has what Postgres has in \(handle.partition.text)") {
                        difference = try await self.difference(handle, on: tool.postgres)
                        return difference.isEmpty ? true : nil
                    }
                } catch let failure as DemoFailure {
                    throw DemoFailure(description: "\(failure.description): \(difference)")
                }
                let count = try await collections.asyncMap { try await handle.find($0).count }.reduce(0, +)
                device.say("\(handle.partition.text): \(count) documents, the same")
            }
        }
    }

    private func difference(_ handle: PartitionHandle, on client: PostgresClient) async throws -> String {
        for collection in collections {
            let rows = try await client.query(
                "select _id, body::text from \(schema).\"\(collection)\" where partition = $1",
                [.text(handle.partition.text)])
            let expected = Dictionary(uniqueKeysWithValues: try rows.decode((String, String).self).map { ($0, $1) })
            var found: [String: String] = [:]
            for document in try await handle.find(collection) {
                found[document["_id"]?.idText ?? ""] = ExtendedJSON.print(document)
            }
            for id in Set(expected.keys).union(found.keys) {
                let server = try expected[id].map { ExtendedJSON.print(try ExtendedJSON.parse($0)) }
                if server != found[id] {
                    return "\(collection) \(id): \(server ?? "missing") and \(found[id] ?? "missing")"
                }
            }
        }
        return ""
    }
}

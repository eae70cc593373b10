import DocumentModel
import PartitaClient
import Postgres

/// The demo's checks and changes directly in Postgres.
struct DemoCheck: Sendable {
    let configuration: LocalConfiguration

    /// Compares the devices' documents with the tables, document by document, once nothing is in flight any more.
    func compare(_ handles: [(DemoDevice, PartitionHandle)]) async throws {
        try await Tool.run(configuration) { tool in
            for (device, handle) in handles {
                var difference = ""
                do {
                    try await eventually("\(device.name) has what Postgres has in \(handle.partition.text)") {
                        difference = try await Self.difference(handle, on: tool.postgres)
                        return difference.isEmpty ? true : nil
                    }
                } catch let failure as DemoFailure {
                    throw DemoFailure(description: "\(failure.description): \(difference)")
                }
                let count = try await Self.collections.asyncMap { try await handle.find($0).count }.reduce(0, +)
                device.say("\(handle.partition.text): \(count) documents, the same")
            }
        }
    }

    private static let collections = ["User", "Chatster", "ChatMessage"]

    private static func difference(_ handle: PartitionHandle, on client: PostgresClient) async throws -> String {
        for collection in collections {
            let rows = try await client.query(
                "select _id, body::text from \"rchat/RChat\".\"\(collection)\" where partition = $1",
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

    /// Returns why the trigger failed on a message; `nil` until its event is dead-lettered.
    func deadLetter(of message: String) async throws -> String? {
        try await Tool.run(configuration) { tool in
            let rows = try await tool.postgres.query(
                "select trigger || ': ' || message from partita.trigger_failures where event like '%' || $1 || '%'",
                [.text(message)])
            return try rows.first?.decode(0, as: String.self)
        }
    }

    /// Changes a row as an external writer with `psql` would.
    func setText(of message: String, to text: String) async throws {
        try await Tool.run(configuration) { tool in
            _ = try await tool.postgres.execute(
                "update \"rchat/RChat\".\"ChatMessage\" set document = jsonb_set(document, '{text}', to_jsonb($2::text)) where _id = $1",
                [.text("s:" + message), .text(text)])
        }
    }
}

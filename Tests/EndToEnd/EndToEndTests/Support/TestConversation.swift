import DocumentModel
import PartitaClient
import Postgres
import TestSupport

/// A conversation, as Postgres has it.
struct TestConversation: Sendable {
    let id: String
    let system: RunningSystem

    var partition: Value { .string("conversation=\(id)") }
    private var partitionText: String { "s:conversation=\(id)" }

    /// The messages' documents by id, in their printed form.
    func rows() async throws -> [String: String] {
        let rows = try await system.query(
            #"select _id, body::text from "rchat/RChat"."ChatMessage" where partition = $1"#, [.text(partitionText)])
        var messages: [String: String] = [:]
        for (id, body) in try rows.decode((String, String).self) {
            messages[id] = ExtendedJSON.print(try ExtendedJSON.parse(body))
        }
        return messages
    }

    /// The history: the id of each insert, and nothing else may be in it.
    func inserts() async throws -> [String] {
        let rows = try await system.query(
            "select operation || ' ' || _id from partita.changes where app = 'rchat' and partition = $1 order by epoch, revision",
            [.text(partitionText)])
        return try rows.decode(String.self)
    }

    /// Waits until a device shows what Postgres has; both may still change.
    func waitUntilSame(_ handle: PartitionHandle) async throws {
        var (expected, shown): ([String: String], [String: String]) = ([:], [:])
        try await eventually(
            "the device shows what Postgres has: it has \(shown.keys.sorted()), Postgres \(expected.keys.sorted())",
            within: .seconds(40)
        ) {
            expected = try await rows()
            shown = try await Self.shown(handle)
            return shown == expected
        }
    }

    private static func shown(_ handle: PartitionHandle) async throws -> [String: String] {
        var messages: [String: String] = [:]
        for document in try await handle.find("ChatMessage") {
            messages[document["_id"]?.idText ?? ""] = ExtendedJSON.print(document)
        }
        return messages
    }
}

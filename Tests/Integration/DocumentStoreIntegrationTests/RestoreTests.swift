import ChildProcesses
import DocumentModel
import DocumentStore
import Foundation
import Postgres
import SyncEngine
import TestSupport
import Testing

/// A database that was restored from a backup.
struct RestoreTests {
    @Test func `a restored pg_dump works for the library and for external writers`() async throws {
        try await StoreFixture.with { fixture in
            try await fixture.client.execute(
                "insert into \(fixture.table) (document) values ($1)",
                [.text(#"{"_id": "a", "partition": "conversation=1", "text": "before"}"#)])
            let restored = try await restore(fixture.url)
            try await PostgresClient.withClient(PostgresConfiguration(url: restored), on: StoreFixture.loops) {
                client in
                try await DocumentStore.migrations.apply(on: client)
                try await client.execute(
                    "update \(fixture.table) set document = document || $1::jsonb", [.text(#"{"text": "by hand"}"#)])
                let store = DocumentStore(client: client)
                store.define(
                    AppStorage(
                        app: StoreFixture.app, syncDatabase: "RChat", partitionKey: "partition",
                        syncedCollections: ["ChatMessage"], validate: { _, _ in nil }))
                _ = try await store.collection("ChatMessage", database: "RChat", app: StoreFixture.app)
                    .updateOne(["_id": "a"], .document(["$set": ["text": "by the library"]]))
                let changes = try await client.query(
                    "select revision, operation, after ->> 'text' from partita.changes order by epoch, revision")
                let found = try changes.decode((Int64, String, String).self).map { "\($0) \($1) \($2)" }
                #expect(found == ["1 insert before", "2 update by hand", "3 update by the library"])
            }
        }
    }

    /// - Returns: the URL of another database with the same contents.
    private func restore(_ url: String) async throws -> String {
        let file = FileManager.default.temporaryDirectory.path + "/\(UUID().uuidString).dump"
        defer { try? FileManager.default.removeItem(atPath: file) }
        let dump = try await CapturedRun.run("pg_dump", ["-Fc", "-f", file, "-d", url])
        #expect(dump.status.isSuccess, "\(dump.output)")
        let copy = try await TestEngines.shared().makeDatabase()
        let restore = try await CapturedRun.run("pg_restore", ["-d", copy, file])
        #expect(restore.status.isSuccess, "\(restore.output)")
        return copy
    }
}

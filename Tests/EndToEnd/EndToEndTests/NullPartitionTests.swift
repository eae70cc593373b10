import DocumentModel
import Foundation
import PartitaClient
import TestSupport
import Testing

extension EndToEnd {
    /// An app whose partition key isn't required, as one of the exports in the wild: what has no owner is public.
    struct NullPartitionTests {
        private static let files: [String: String] = [
            "realm_config.json": #"{"config_version": 20210101, "app_id": "notices", "name": "Notices"}"#,
            "auth/providers.json": #"{"anon-user": {"name": "anon-user", "type": "anon-user", "disabled": false}}"#,
            "data_sources/mongodb-atlas/config.json": #"{"name": "mongodb-atlas", "type": "mongodb-atlas"}"#,
            "sync/config.json": """
            {"state": "enabled", "service_name": "mongodb-atlas", "database_name": "d",
             "partition": {"key": "owner", "type": "string", "required": false, "permissions": {
               "read": {"%%partition": {"%in": ["%%user.id", null]}}, "write": {"%%partition": "%%user.id"}}}}
            """,
            "data_sources/mongodb-atlas/d/Notice/schema.json":
                #"{"title": "Notice", "bsonType": "object", "properties": {"owner": {"bsonType": "string"}}}"#,
            "functions/config.json": #"[{"name": "publish", "run_as_system": true}]"#,
            "functions/publish.js": """
            exports = id => context.services.get("mongodb-atlas").db("d").collection("Notice")
              .updateOne({_id: id}, {$unset: {owner: ""}});
            """,
        ]

        @Test func `a device opens the null partition, which SQL and functions write`() async throws {
            let system = try await RunningSystem.shared()
            let deployed = try await TestApp.deploy("notices", Self.files, on: system)
            #expect(deployed.contains("d in partitions by owner (string or null), 1 collections"), "\(deployed)")
            #expect(!deployed.contains("warning field-value"), "\(deployed)")

            let folder = "\(system.directory)/devices/\(UUID().uuidString)"
            try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
            let app = try await PartitaApp(
                PartitaConfiguration(appId: "notices", baseURL: system.publicURL, directory: folder, loop: system.loop))
            let session = try await app.logIn(.anonymous)
            let open = try await session.openPartition(.null, waitForFirstSync: true)
            let own = try await session.openPartition(.string(session.userId), waitForFirstSync: true)
            #expect(open.partition.text == "n:")

            // By hand, without the key.
            _ = try await system.query("select partita.ensure_collection('notices', 'd', 'Notice', 'owner', true)")
            _ = try await system.query(
                #"insert into "notices/d"."Notice" (document) values ('{"_id": "hand", "text": "by hand"}')"#)
            try await eventually("the device has the row") { try await open.document("Notice", id: "hand") != nil }

            // The rules allow only to read it.
            try await open.write { $0.insert("Notice", ["_id": "mine", "text": "no"]) }
            try await eventually("the write is rejected") { try await open.rejected().count == 1 }
            #expect(try await open.document("Notice", id: "mine") == nil)

            // A function takes the key away, and SQL gives it back.
            try await own.write { $0.insert("Notice", ["_id": "own", "owner": .string(session.userId), "text": "hi"]) }
            try await own.waitForUploads()
            _ = try await session.callFunction("publish", "own")
            try await eventually("it has moved to the null partition") {
                let notice = try await open.document("Notice", id: "own")
                return try await own.document("Notice", id: "own") == nil && notice != nil && notice?["owner"] == nil
            }
            _ = try await system.query(
                #"update "notices/d"."Notice" set document = document || jsonb_build_object('owner', $1::text) where _id = 's:own'"#,
                [.text(session.userId)])
            try await eventually("it has moved back") {
                let former = try await open.document("Notice", id: "own")
                return try await own.document("Notice", id: "own") != nil && former == nil
            }
            try await system.check(app: "notices")
            try await app.close()
        }
    }
}

import ChildProcesses
import DocumentModel
import Foundation
import RealmTestClient
import TestSupport
import Testing

extension EndToEnd {
    /// A deployment that changes the type of a property, for clients with a Realm SDK.
    struct ChangedTypesTests {
        private static func files(_ app: String, _ type: String) -> [String: String] {
            [
                "realm_config.json": #"{"config_version": 20210101, "app_id": "\#(app)", "name": "\#(app)"}"#,
                "auth/providers.json": """
                {"local-userpass": {"name": "local-userpass", "type": "local-userpass", "disabled": false,
                  "config": {"autoConfirm": true}}}
                """,
                "data_sources/mongodb-atlas/config.json": #"{"name": "mongodb-atlas", "type": "mongodb-atlas"}"#,
                "data_sources/mongodb-atlas/d/Note/schema.json": """
                {"title": "Note", "bsonType": "object", "required": ["_id"], "properties": {
                  "_id": {"bsonType": "string"}, "_partition": {"bsonType": "string"},
                  "text": {"bsonType": "string"}, "stars": {"bsonType": "\(type)"}}}
                """,
                "sync/config.json": """
                {"state": "enabled", "service_name": "mongodb-atlas", "database_name": "d",
                 "partition": {"key": "_partition", "type": "string", "required": true,
                  "permissions": {"read": true, "write": true}}}
                """,
            ]
        }

        @Test func `it says which clients begin anew, before and when it is done, and they do`() async throws {
            let system = try await RunningSystem.shared()
            let app = "retyped-\(UUID().uuidString.prefix(8).lowercased())"
            _ = try await TestApp.deploy(app, Self.files(app, "int"), on: system)
            let ann = try await RealmPerson.register("ann", on: system, app: app)
            let phones = try await [ann.open("a"), ann.open("a"), ann.open("b")]
            defer { for phone in phones { phone.cut() } }
            for phone in phones {
                try await phone.receive { $0.objects.schema.classes["Note"]?.properties["stars"] != nil }
            }

            let next = "\(app)-next"
            _ = try TestApp.write(next, Self.files(app, "string"), on: system)
            let line =
                "clients with a Realm SDK begin anew (client reset), 3 of the last 30 days in 2 partitions, because these change: property Note.stars"
            for words in [["diff"], ["deploy", "--dry-run"], ["deploy"]] {
                let run = try await CapturedRun.run(
                    CurrentEnvironment.sibling("partita"),
                    ["app", words[0], "\(system.directory)/\(next)", "--data", system.directory] + words.dropFirst())
                #expect(run.status.isSuccess, "\(run.output)")
                #expect(run.output.contains(line), "\(words): \(run.output)")
            }
            try await phones[0].receive { !$0.errors.isEmpty }
            #expect(phones[0].errors.first?.json["action"] == "ClientReset")
        }
    }
}

import AppDefinition
import DocumentModel
import DocumentStore
import RealmTestClient
import SyncEngine
import TestSupport
import Vectors

/// An app with the classes of the recorded client, in partitions by `_partition`.
enum RecordedApp {
    static func files(of app: String, _ edit: (String) -> String = { $0 }) throws -> AppFiles {
        var files: [ExactText: String] = [
            "realm_config.json": #"{"config_version": 20210101, "app_id": "\#(app)", "name": "chatapp"}"#,
            "sync/config.json": """
            {"state": "enabled", "database_name": "chat", "service_name": "mongodb-atlas",
             "partition": {"key": "_partition", "type": "string", "required": true,
                           "permissions": {"read": true, "write": true}}}
            """,
            "data_sources/mongodb-atlas/config.json":
                #"{"name": "mongodb-atlas", "type": "mongodb-atlas", "config": {}}"#,
        ]
        for (json, relationships) in RecordedClient.schemas {
            var schema = try ExtendedJSON.parseDocument(edit(json))
            let name = schema["title"]?.stringValue ?? "", folder = "data_sources/mongodb-atlas/chat/\(name)"
            var properties = schema["properties"]?.documentValue ?? [:]
            properties["_partition"] = ["bsonType": "string"]
            schema["properties"] = .document(properties)
            schema["bsonType"] = "object"
            files[ExactText("\(folder)/schema.json")] = ExtendedJSON.print(schema, mode: .relaxed)
            files[ExactText("\(folder)/rules.json")] =
                #"{"database": "chat", "collection": "\#(name)", "roles": []}"#
            let links = relationships.map { field, target in
                """
                "\(field)": {"ref": "#/relationship/mongodb-atlas/chat/\(target)", "foreign_key": "_id", "is_list": false}
                """
            }
            files[ExactText("\(folder)/relationships.json")] = "{\(links.joined(separator: ","))}"
        }
        return AppFiles(files)
    }

    /// - Parameters:
    ///   - more: Further files, by their paths.
    ///   - edit: Changes a schema's text.
    static func deploy(
        _ app: String, to fixture: GatewayFixture, more: [ExactText: String] = [:],
        _ edit: (String) -> String = { $0 }
    ) async throws {
        var files = try files(of: app, edit)
        files.texts.merge(more) { $1 }
        let definition = try AppDefinition(files: files)
        try await fixture.deploy(definition.files)
        fixture.store.define(AppStorage(definition))
    }

    /// Opens a client as soon as the gateway has the app.
    static func open(_ client: RealmClient) async throws {
        try await eventually("the gateway has the app", within: patience) {
            do {
                try await client.open()
                return true
            } catch {
                client.cut()
                return false
            }
        }
    }
}

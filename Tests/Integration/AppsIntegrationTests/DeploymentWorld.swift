import AppDefinition
import AppDeployment
import AppRegistry
import DocumentModel
import DocumentStore
import EventLoop
import Postgres
import SyncEngine
import TestSupport

/// An app `life`, and its deployments in a database of its own.
struct DeploymentWorld: Sendable {
    let client: PostgresClient
    let registry: AppRegistry
    let deployments: AppDeployments

    func store(_ files: AppFiles) throws -> DocumentStore {
        let store = DocumentStore(client: client)
        store.define(AppStorage(try AppDefinition(files: files)))
        return store
    }

    static func with(_ body: @Sendable (DeploymentWorld) async throws -> Void) async throws {
        let loops = LoopGroup(1)
        var configuration = PostgresConfiguration(url: try await TestEngines.shared().makeDatabase())
        configuration.connections = 6
        try await PostgresClient.withClient(configuration, on: loops) { client in
            let registry = AppRegistry(client: client)
            try await body(
                DeploymentWorld(
                    client: client, registry: registry,
                    deployments: AppDeployments(
                        client: client, registry: registry, loop: loops.next(), operator: "ada@test",
                        publish: { _ in })))
        }
    }

    /// - Parameter more: Further files, by their paths.
    static func files(
        key: String = "team", hasNull: Bool = false, type: String = "string", required: String = "",
        more: [String: String] = [:]
    ) -> AppFiles {
        var files: AppFiles = [
            "realm_config.json": #"{"config_version": 20210101, "app_id": "life", "name": "life"}"#,
            "data_sources/mongodb-atlas/config.json": #"{"name": "mongodb-atlas", "type": "mongodb-atlas"}"#,
            "sync/config.json": """
            {"state": "enabled", "service_name": "mongodb-atlas", "database_name": "d",
             "partition": {"key": "\(key)", "type": "string", \(hasNull ? #""required": false, "# : "")
               "permissions": {"read": true, "write": true}}}
            """,
            "data_sources/mongodb-atlas/d/c/schema.json": """
            {"title": "c", "bsonType": "object", "required": [\(required)], "properties": {
              "team": {"bsonType": "string"}, "place": {"bsonType": "string"}, "n": {"bsonType": "\(type)"}}}
            """,
        ]
        for (path, text) in more { files.texts[path] = text }
        return files
    }
}

import AppDefinition
import AppRegistry
import DocumentModel
import DocumentStore
import Foundation
import FoundationNetworking
import ServiceEngines
import SyncEngine
import TestSupport

/// A user who calls the data API of an app.
struct DataAPIClient: Sendable {
    let fixture: GatewayFixture
    let app: String
    var user: String
    var session = "s"

    struct Answer: Sendable {
        let status: Int
        let text: String
        let type: String
        var allowedOrigin: String?

        var body: Value { (try? ExtendedJSON.parse(text)) ?? .undefined }
        var code: String? { body["error_code"]?.stringValue }
    }

    /// Calls an action; with Extended JSON in both directions by default.
    func post(
        _ action: String, _ body: String, contentType: String = "application/ejson",
        accept: String? = "application/ejson", token: String? = nil, origin: String? = nil,
        credentials: [String: String]? = nil
    ) async throws -> Answer {
        guard
            let url = URL(string: "http://127.0.0.1:\(fixture.port)/app/\(app)/endpoint/data/v1/action/\(action)")
        else { throw URLError(.badURL) }
        var request = URLRequest(url: url)
        request.httpMethod = "POST"
        request.httpBody = Data(body.utf8)
        let own = ["Authorization": "Bearer \(try token ?? fixture.token(user, app: app, session: session))"]
        for (name, value) in credentials ?? own { request.setValue(value, forHTTPHeaderField: name) }
        request.setValue(contentType, forHTTPHeaderField: "Content-Type")
        if let origin { request.setValue(origin, forHTTPHeaderField: "Origin") }
        if let accept { request.setValue(accept, forHTTPHeaderField: "Accept") }
        let (data, response) = try await URLSession.shared.data(for: request)
        let http = response as? HTTPURLResponse
        return Answer(
            status: http?.statusCode ?? 0, text: String(decoding: data, as: UTF8.self),
            type: http?.value(forHTTPHeaderField: "Content-Type") ?? "",
            allowedOrigin: http?.value(forHTTPHeaderField: "Access-Control-Allow-Origin"))
    }

    /// Calls an action on a collection.
    func call(_ action: String, _ collection: String, _ parts: Document = [:]) async throws -> Answer {
        var body: Document = [
            "dataSource": "mongodb-atlas", "database": "Test", "collection": .string(collection),
        ]
        for part in parts.fields { body[part.key] = part.value }
        return try await post(action, ExtendedJSON.print(body))
    }
}

extension GatewayFixture {
    /// Deploys a small app with these data rules, and waits until the gateway serves it.
    func deploy(
        _ id: String, rules: [String: String], more: [String: String] = [:], origins: [String] = []
    ) async throws -> DataAPIClient {
        var files: AppFiles = [
            "realm_config.json": """
            {"config_version": 20210101, "app_id": "\(id)", "name": "Test", "location": "DE-FF", "deployment_model": "LOCAL",
             "allowed_request_origins": [\(origins.map { "\"\($0)\"" }.joined(separator: ", "))]}
            """,
            "data_sources/mongodb-atlas/config.json":
                #"{"name": "mongodb-atlas", "type": "mongodb-atlas", "config": {}}"#,
        ]
        files.texts["http_endpoints/data_api_config.json"] = #"{"disabled": false}"#
        for (path, text) in rules { files.texts["data_sources/mongodb-atlas/\(path).json"] = text }
        for (path, text) in more { files.texts[path] = text.isEmpty ? nil : text }
        let definition = try AppDefinition(files: files)
        store.define(AppStorage(definition))
        let deployed = try await AppRegistry(client: postgres).deploy(definition)
        try await AppRegistry.announce(deployed.app, with: events)
        let client = DataAPIClient(fixture: self, app: id, user: "ann")
        try await eventually("the app is served", within: patience) {
            try await client.post("find", "{}").code != "AppNotFound"
        }
        return client
    }
}

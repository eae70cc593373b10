import AppDefinition
import DocumentModel
import DocumentStore
import Foundation
import TestSupport
import Testing

@testable import Auth

@Suite struct FunctionHostTests {
    @Test func `a confirmation function runs in its host process, with the app's documents at hand`() async throws {
        let fixture = try await AuthFixture.shared()
        let values = AuthFixture.values(
            fixture.engines, database: fixture.database, pool: fixture.pool, mailFolder: fixture.mailFolder)
        let hosted = try await HostedAuth(values, functions: nil, clock: .system)
        var app = TestApp()
        app.confirmation = #""runConfirmationFunction": true, "confirmationFunctionName": "succeed""#
        var files = app.files
        files.texts["data_sources/mongodb-atlas/config.json"] =
            #"{"name": "mongodb-atlas", "type": "mongodb-atlas", "config": {}}"#
        files.texts["auth/custom_user_data.json"] = """
            {"enabled": true, "mongo_service_name": "mongodb-atlas", "database_name": "Hotel", "collection_name": "Guest",
             "user_id_field": "user"}
            """
        files.texts["functions/succeed.js"] = """
            exports = async function ({ username }) {
              const guests = context.services.get("mongodb-atlas").db("Hotel").collection("Guest");
              if (await guests.findOne({ name: username })) return { status: "fail" };
              await guests.insertOne({ name: username });
              return { status: "success" };
            };
            """
        try await fixture.deploy(try AppDefinition(files: files))
        let client = AppClient(port: hosted.port, app: app.id)
        try await eventually("the app is known") { try await client.call(.get, "location").status == 200 }
        #expect(try await client.register("guest@example.org").status == 201)
        let first = try await client.signIn("guest@example.org")
        #expect(try Self.userData(first.access) == nil)
        try await hosted.engines.store.collection("Guest", database: "Hotel", app: app.id)
            .insertOne(["user": .string(first.user), "room": 12])
        #expect(try Self.userData(try await client.signIn("guest@example.org").access)?["room"] == 12)
        #expect(try await client.admin(.delete, "/\(try await client.signIn("guest@example.org").user)").status == 204)
        #expect(try await client.register("guest@example.org").code == "BadRequest")
    }

    private static func userData(_ token: String) throws -> Value? {
        var text = String(token.split(separator: ".")[1]).replacing("-", with: "+").replacing("_", with: "/")
        while text.utf8.count % 4 != 0 { text += "=" }
        return try ExtendedJSON.parseDocument(Array(try #require(Data(base64Encoded: text))))["user_data"]
    }
}

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

    @Test func `a confirmation function sends its mail by a service of AWS`() async throws {
        let fixture = try await AuthFixture.shared()
        let vendors = try await Vendors.start()
        let values = AuthFixture.values(
            fixture.engines, database: fixture.database, pool: fixture.pool, mailFolder: fixture.mailFolder)
        let hosted = try await HostedAuth(values, functions: nil, clock: .system)
        var app = TestApp()
        app.confirmation = #""runConfirmationFunction": true, "confirmationFunctionName": "succeed""#
        var files = app.files
        files.texts["services/Mail/config.json"] = """
            {"name": "Mail", "type": "aws", "config": {"accessKeyId": "\(Vendors.accessKey)"},
             "secret_config": {"secretAccessKey": "awsSecret"}}
            """
        files.texts["partita.json"] = """
            {"services": {"Mail": {"endpoint": "\(vendors.url.replacing("localhost", with: "127.0.0.1"))"}}}
            """
        files.texts["functions/succeed.js"] = """
            exports = async function ({ username, token }) {
              await context.services.get("Mail").ses("eu-west-1").SendEmail({
                Source: "hotel@example.org", Destination: { ToAddresses: [username] },
                Message: { Subject: { Data: "Welcome" }, Body: { Text: { Data: `${token.length > 0}` } } } });
              return { status: "success" };
            };
            """
        try await fixture.registry.setSecret("awsSecret", of: app.id, to: Vendors.secretKey)
        try await fixture.deploy(try AppDefinition(files: files))
        let client = AppClient(port: hosted.port, app: app.id)
        try await eventually("the app is known") { try await client.call(.get, "location").status == 200 }
        #expect(try await client.register("guest@example.org").status == 201)
        let sent = try ExtendedJSON.parse(try await vendors.accepted())
        #expect(sent[0]?["form"]?["Destination.ToAddresses.member.1"] == "guest@example.org", "\(sent)")
        #expect(sent[0]?["form"]?["Message.Body.Text.Data"] == "true")
        #expect(try await client.signIn("guest@example.org").user.isEmpty == false)
    }

    private static func userData(_ token: String) throws -> Value? {
        var text = String(token.split(separator: ".")[1]).replacing("-", with: "+").replacing("_", with: "/")
        while text.utf8.count % 4 != 0 { text += "=" }
        return try ExtendedJSON.parseDocument(Array(try #require(Data(base64Encoded: text))))["user_data"]
    }
}

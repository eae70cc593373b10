import AppDefinition
import DocumentModel
import Foundation
import Testing

@Suite struct ReadingTests {
    @Test func `only collections whose schema has the partition key sync, and the others say why`() throws {
        func verdict(_ schema: String?, database: String = "Shop", state: String = "enabled") throws -> SyncVerdict {
            var files = AppFixture.files
            files.texts["data_sources/mongodb-atlas/\(database)/Thing/schema.json"] = schema
            files.texts["data_sources/mongodb-atlas/\(database)/Thing/rules.json"] = #"{"roles": []}"#
            files.texts["sync/config.json"] = files["sync/config.json"]?.replacing("enabled", with: state)
            let app = try AppDefinition(files: files)
            return app.syncVerdict(of: try #require(app.collection("Thing", database: database)))
        }
        func schema(_ properties: String) -> String {
            #"{"title": "Thing", "bsonType": "object", "properties": {\#(properties)}}"#
        }
        let key = schema(#""_partition": {"bsonType": "string"}"#)
        let inner = schema(#""inner": {"bsonType": "object", "properties": {"_partition": {"bsonType": "string"}}}"#)
        #expect(try verdict(key) == .synced)
        #expect(try verdict(nil) == .noSchema)
        #expect(try verdict("{}") == .noSchema)
        #expect(try verdict(schema("")) == .noPartitionKey("_partition"))
        #expect(try verdict(inner) == .noPartitionKey("_partition"))
        #expect(try verdict(schema(#""_partition": {"bsonType": "object"}"#)) == .otherKeyType("_partition"))
        #expect(try verdict(key, database: "Other") == .otherDatabase)
        #expect(try verdict(key, state: "disabled") == .syncIsOff)
        #expect("\(try verdict(inner))" == "not synced: its schema has no property '_partition', the partition key")
    }

    @Test func `the data API is there only where a file enables it`() throws {
        func dataAPI(_ text: String?) throws -> DataAPI? {
            var files = AppFixture.files
            files.texts["http_endpoints/data_api_config.json"] = text
            return try AppDefinition(files: files).dataAPI
        }
        #expect(try dataAPI(nil) == nil)
        #expect(try dataAPI(#"{"disabled": true}"#) == nil)
        #expect(try dataAPI(#"{"disabled": false, "return_type": "EJSON"}"#)?.returnsExtendedJSON == true)
        #expect(try dataAPI(#"{"disabled": false, "validation_method": "SECRET_AS_QUERY_PARAM"}"#) == nil)
    }

    @Test func `the newer layout is read whole`() throws {
        let app = try AppDefinition(files: AppFixture.files)
        #expect(
            app.id == "shop-abcde" && app.name == "shop" && app.location == "DE-FF" && app.deploymentModel == "LOCAL")
        #expect(app.allowedRequestOrigins == ["https://shop.example"])
        #expect(app.environmentValues == ["url": "https://shop.example"])
        #expect(app.value("limit") == 10)
        #expect(app.value("apiKey") == nil)
        #expect(app.customUserData?.userIdField == "userId")
        #expect(app.authProviders.map(\.name) == ["local-userpass", "anon-user"])
        #expect(app.function("greet")?.hidesArguments == true)
        #expect(app.function("confirm")?.isPrivate == true)
        #expect(app.httpEndpoints.first?.route == "/hello")
        let customer = try #require(app.collection("Customer", database: "Shop"))
        #expect(customer.relationships.first?.collection == "Customer")
        #expect(customer.rules?.roles.first?.fields["credit"]?.write != nil)
        #expect(customer.schema?.types(at: ["orders", "0"]) == [.objectId])
    }

    @Test func `sync and triggers have their settings`() throws {
        let app = try AppDefinition(files: AppFixture.files)
        #expect(app.sync?.partitionKey == "_partition")
        #expect(app.sync?.partitionType == .string)
        guard case .database(let event)? = app.trigger("written")?.event else { throw NotFound() }
        #expect(event.operationTypes == [.insert, .delete])
        #expect(event.match?.document == ["fullDocument.vip": true])
        #expect(app.trigger("written")?.isDisabled == true)
        guard case .schedule(let schedule)? = app.trigger("nightly")?.event else { throw NotFound() }
        #expect(schedule.cron.next(after: 0) == Int64(10_800_000))
    }

    @Test func `accounts are confirmed and reset as the provider says`() throws {
        let app = try AppDefinition(files: AppFixture.files)
        let settings = EmailPasswordSettings(try #require(app.authProvider("local-userpass")))
        #expect(settings.confirmation == .function("confirm"))
        #expect(settings.reset == .mail)
        #expect(settings.resetURL == "https://shop.example/reset")
    }

    @Test func `partita.json gives presence, media and indexes, in the synced database unless it says otherwise`()
        throws
    {
        let app = try AppDefinition(files: AppFixture.files)
        #expect(
            app.presence?.database == "Shop" && app.presence?.online == "On-Line" && app.presence?.userField == "_id")
        #expect(app.media.first?.linkField == "photo.url")
        #expect(app.indexes.map(\.name) == ["name_1_age_-1"] && app.indexes.first?.database == "Shop")
        #expect(app.indexes.first?.specification == ["key": ["name": 1, "age": -1], "unique": true])
    }

    @Test func `the rule who may watch whom is beside the field, or alone`() throws {
        var files = AppFixture.files
        #expect(try AppDefinition(files: files).presenceWatch == .shared)
        files.texts["partita.json"] =
            #"{"presence": {"collection": "Customer", "field": "presence", "watch": "everybody"}}"#
        #expect(try AppDefinition(files: files).presenceWatch == .everybody)
        files.texts["partita.json"] = #"{"presence": {"watch": "everybody"}}"#
        let alone = try AppDefinition(files: files)
        #expect(alone.presenceWatch == .everybody && alone.presence == nil)
    }

    @Test func `the older layout gives the same app`() throws {
        let newer = try AppDefinition(files: AppFixture.files)
        let older = try AppDefinition(files: OlderLayout.files)
        #expect(older.id == newer.id && older.allowedRequestOrigins == newer.allowedRequestOrigins)
        #expect(older.authProviders.map(\.name).sorted() == newer.authProviders.map(\.name).sorted())
        #expect(older.functions.map(\.name) == newer.functions.map(\.name))
        #expect(older.functions.map(\.source) == newer.functions.map(\.source))
        #expect(older.sync?.partitionKey == newer.sync?.partitionKey)
        #expect(older.sync?.read.source == newer.sync?.read.source)
        #expect(older.customUserData == newer.customUserData)
        #expect(older.collections.map(\.name) == newer.collections.map(\.name))
        #expect(older.collections.first?.schema?.source == newer.collections.first?.schema?.source)
        #expect(older.collections.first?.relationships == newer.collections.first?.relationships)
    }

    @Test func `sync settings may be in a service's configuration`() throws {
        var files = OlderLayout.files
        files.texts["config.json"] = files.texts["config.json"]?.replacing("\"sync\"", with: "\"was_sync\"")
        files.texts["services/mongodb-atlas/config.json"] = """
            {"name": "mongodb-atlas", "type": "mongodb-atlas", "config": {"sync": {"state": "enabled", "database_name": "Shop",
             "partition": {"key": "_partition", "type": "string", "permissions": {"read": true, "write": false}}}}}
            """
        #expect(try AppDefinition(files: files).sync?.partitionKey == "_partition")
    }

    @Test func `a definition survives being stored`() throws {
        let app = try AppDefinition(files: AppFixture.files)
        let text = ExtendedJSON.print(.document(app.document))
        let restored = try AppDefinition(stored: try ExtendedJSON.parseDocument(text))
        #expect(restored.files == app.files)
        #expect(restored.function("greet")?.source == app.function("greet")?.source)
        #expect(throws: AppDefinitionError.self) { try AppDefinition(stored: ["format": "something"]) }
    }

    @Test func `the chat app of this project has no problems at all`() throws {
        let folder = URL(fileURLWithPath: #filePath).deletingLastPathComponent()
            .appendingPathComponent("../../../Deploy/apps/rchat").standardized.path
        let inspection = AppDefinition.inspect(try AppFiles(folder: folder))
        #expect(inspection.problems.map(\.description) == [])
        let app = inspection.definition
        #expect(app.id == "rchat")
        #expect(app.collections.map(\.name).sorted() == ["ChatMessage", "Chatster", "User"])
        #expect(app.triggers.count == 4)
        #expect(app.functions.count == 7)
        #expect(app.media.count == 2)
        #expect(app.sync?.read.functionNames == ["canReadPartition"])
    }

    @Test func `files that differ only in the Unicode form of a text are others`() {
        let composed: AppFiles = ["functions/a.js": "exports = () => \"\u{E9}\""]
        let decomposed: AppFiles = ["functions/a.js": "exports = () => \"e\u{301}\""]
        #expect(composed != decomposed)
        #expect(composed == ["functions/a.js": "exports = () => \"\u{E9}\""])
    }

    @Test func `a missing folder is reported`() {
        #expect(throws: AppDefinitionError.self) { try AppFiles(folder: "/nowhere/at/all") }
    }
}

struct NotFound: Error {}

/// The fixture's app as an export of 2020.
enum OlderLayout {
    static var files: AppFiles {
        let new = AppFixture.files
        func text(_ path: String) -> String { new[path] ?? "" }
        var files = AppFiles()
        files.texts["config.json"] = """
            {"config_version": 20200603, "app_id": "shop-abcde", "name": "shop", "location": "DE-FF",
             "deployment_model": "LOCAL", "environment": "production",
             "security": {"allowed_request_origins": ["https://shop.example"]},
             "custom_user_data_config": \(text("auth/custom_user_data.json")),
             "sync": \(text("sync/config.json"))}
            """
        files.texts["auth_providers/anon-user.json"] = #"{"name": "anon-user", "type": "anon-user", "disabled": false}"#
        files.texts["auth_providers/local-userpass.json"] = """
            {"name": "local-userpass", "type": "local-userpass", "disabled": false,
             "config": {"runConfirmationFunction": true, "confirmationFunctionName": "confirm",
                        "resetPasswordUrl": "https://shop.example/reset"}}
            """
        files.texts["services/mongodb-atlas/config.json"] = text("data_sources/mongodb-atlas/config.json")
        files.texts["services/mongodb-atlas/rules/Shop.Customer.json"] = """
            {"database": "Shop", "collection": "Customer", "roles": [{"name": "owner", "apply_when": {}, "read": true}],
             "schema": \(text("data_sources/mongodb-atlas/Shop/Customer/schema.json")),
             "relationships": \(text("data_sources/mongodb-atlas/Shop/Customer/relationships.json"))}
            """
        for name in ["confirm", "greet"] {
            files.texts["functions/\(name)/config.json"] = "{\"name\": \"\(name)\", \"private\": false}"
            files.texts["functions/\(name)/source.js"] = text("functions/\(name).js")
        }
        for path in new.paths where path.hasPrefix("triggers/") || path.hasPrefix("values/") {
            files.texts[path] = new[path]
        }
        return files
    }
}

import AppDefinition
import DocumentModel
import Foundation
import Testing

/// Parts of exports that stand at two places, or at a place that the format doesn't have: none is lost without a word.
struct SecondPlaceTests {
    private func inspect(_ change: (inout AppFiles) -> Void) -> AppDefinition.Inspection {
        var files = AppFixture.files
        change(&files)
        return AppDefinition.inspect(files)
    }

    private func problems(_ change: (inout AppFiles) -> Void) -> [String] {
        inspect(change).problems.map { "\($0.code.rawValue) \($0.file) \($0.pointer)" }
    }

    private static let endpoint = #"[{"route": "/b", "http_method": "GET", "function_name": "greet"}]"#

    @Test func `of the two folders of endpoints, an empty one doesn't hide the other`() {
        let found = inspect {
            $0.texts["http_endpoints/config.json"] = "[]"
            $0.texts["https_endpoints/config.json"] = Self.endpoint
        }
        #expect(found.definition.httpEndpoints.map(\.route) == ["/b"] && found.problems.isEmpty)
        #expect(
            problems { $0.texts["https_endpoints/config.json"] = Self.endpoint } == [
                "part-shadowed https_endpoints/config.json "
            ])
    }

    @Test func `rules and settings of the older layout beside the newer one are named`() {
        #expect(
            problems {
                $0.texts["services/mongodb-atlas/config.json"] =
                    #"{"name": "mongodb-atlas", "type": "mongodb-atlas", "config": {}}"#
                $0.texts["services/mongodb-atlas/rules/Shop.New.json"] =
                    #"{"database": "Shop", "collection": "New", "roles": []}"#
                $0.texts["functions/greet/config.json"] = #"{"name": "greet", "private": true}"#
                $0.texts["functions/greet/source.js"] = "exports = () => 1;"
                $0.texts["functions/other/config.json"] = #"{"name": "other", "private": false}"#
                $0.texts["functions/other/source.js"] = "exports = () => 1;"
            } == [
                "part-shadowed functions/greet/config.json ",
                "function-not-configured functions/other/config.json /private",
                "part-shadowed services/mongodb-atlas/rules/Shop.New.json ",
            ])
    }

    @Test func `what two files say differently is named`() {
        #expect(
            problems {
                $0.texts["realm_config.json"] = """
                    {"config_version": 20210101, "app_id": "shop-abcde", "name": "shop", "environment": "production",
                     "hosting": {"enabled": true}, "custom_user_data_config": {"enabled": false},
                     "allowed_request_origins": ["https://a.example"],
                     "security": {"allowed_request_origins": ["https://b.example"]}}
                    """
                $0.texts["hosting/config.json"] = #"{"enabled": false}"#
                for name in ["a", "b"] {
                    $0.texts["services/\(name)/config.json"] =
                        #"{"name": "mail", "type": "\#(name == "a" ? "http" : "twilio")", "config": {}}"#
                }
            }.filter { $0.hasPrefix("part-shadowed") } == [
                "part-shadowed realm_config.json /custom_user_data_config", "part-shadowed realm_config.json /hosting",
                "part-shadowed realm_config.json /security/allowed_request_origins",
                "part-shadowed services/b/config.json ",
            ])
    }

    @Test func `files that nothing reads are named`() {
        let misplaced = [
            "triggers/sub/t.json", "values/sub/v.json", "data_sources/mongodb-atlas/Shop/Customer/Rules.json",
            "data_sources/mongodb-atlas/rules.json", "http_endpoints/r.json",
            "services/web/incoming_webhooks/w/source.js",
        ]
        let capital = ["functions/e.JS", "triggers/U.JSON", "values/V.JSON"]
        let found = problems {
            for path in misplaced { $0.texts[ExactText(path)] = "{}" }
            for path in capital { $0.otherFiles[ExactText(path)] = [] }
            $0.texts["environments/qa.json"] = #"{"url": "x"}"#
            // Others' settings among functions, and copies of an editor.
            $0.texts["functions/tsconfig.json"] = "{}"
            $0.texts["services/mongodb-atlas/rules/x.bck.json"] = "{}"
            $0.otherFiles["functions/README.MD"] = []
        }
        #expect(
            found.sorted()
                == ((misplaced + capital).map { "feature-not-served \($0) " } + [
                    "field-missing environments/qa.json ", "field-unused environments/qa.json /url",
                ])
                .sorted())
    }

    @Test func `webhooks are read in either layout`() {
        let found = inspect {
            $0.texts["data_sources/web/config.json"] = #"{"name": "web", "type": "http", "config": {}}"#
            $0.texts["data_sources/web/incoming_webhooks/w/config.json"] = #"{"name": "w", "respond_result": true}"#
            $0.texts["data_sources/web/incoming_webhooks/w/source.js"] = "exports = () => 1;"
        }
        #expect(found.definition.webhook("w", of: "web") != nil)
    }

    @Test func `a name that is no data source is named`() {
        #expect(
            problems {
                $0.texts["sync/config.json"] = $0.texts["sync/config.json"]?.replacing("mongodb-atlas", with: "nosuch")
                $0.texts["auth/custom_user_data.json"] =
                    $0.texts["auth/custom_user_data.json"]?.replacing("mongodb-atlas", with: "nosuch")
            }.filter { $0.hasPrefix("service-unknown") } == [
                "service-unknown auth/custom_user_data.json /mongo_service_name",
                "service-unknown sync/config.json /service_name",
            ])
    }

    @Test func `a collection that can't have documents is named`() {
        let name = String(repeating: "n", count: 121)
        #expect(
            problems {
                $0.texts["data_sources/mongodb-atlas/Shop/\(name)/rules.json"] = #"{"roles": []}"#
            } == ["feature-not-served data_sources/mongodb-atlas/Shop/\(name)/rules.json "])
    }

    @Test func `an empty list of roles of flexible sync opens nothing`() {
        var files = AppFixture.files
        files.texts["data_sources/mongodb-atlas/Shop/Customer/rules.json"] = nil
        files.choices = DeploymentChoices(syncBy: "owner")
        func sync(_ roles: String) -> SyncConfiguration? {
            files.texts["sync/config.json"] = """
                {"type": "flexible", "state": "enabled", "database_name": "Shop", "service_name": "mongodb-atlas",
                 "permissions": {"rules": \(roles), "defaultRoles": [
                   {"name": "own", "applyWhen": {}, "read": {"owner": "%%user.id"}, "write": {"owner": "%%user.id"}}]},
                 "queryable_fields_names": ["owner"]}
                """
            files.texts["data_sources/mongodb-atlas/Shop/Customer/schema.json"] = """
                {"title": "Customer", "bsonType": "object", "required": ["_id"],
                 "properties": {"_id": {"bsonType": "objectId"}, "owner": {"bsonType": "string"}}}
                """
            files.texts["data_sources/mongodb-atlas/Shop/Customer/relationships.json"] = nil
            return AppDefinition.inspect(files).definition.sync
        }
        #expect(sync("{}")?.read.source == ["%%partition": "%%user.id"])
        let closed = sync(#"{"Customer": []}"#)
        #expect(closed == nil || closed?.read.source == false)
    }

    @Test func `pipes are named`() throws {
        let root = NSTemporaryDirectory() + UUID().uuidString
        defer { try? FileManager.default.removeItem(atPath: root) }  // a temporary folder
        try FileManager.default.createDirectory(atPath: root + "/values", withIntermediateDirectories: true)
        try Data("{}".utf8).write(to: URL(fileURLWithPath: root + "/realm_config.json"))
        try #require(mkfifo(root + "/values/v.json", 0o644) == 0)
        #expect(
            try AppFiles(folder: root).problems.map { "\($0.code.rawValue) \($0.file)" } == [
                "file-unreadable values/v.json"
            ])
        let archived = try AppFiles(
            archived: [.init(path: "app/realm_config.json", bytes: Array("{}".utf8))], special: ["app/values/v.json"],
            in: "app/")
        #expect(archived.problems.map(\.file) == ["values/v.json"])
    }
}

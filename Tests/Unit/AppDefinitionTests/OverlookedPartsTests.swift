import AppDefinition
import DocumentModel
import Foundation
import Testing

/// Parts of exports that nothing reads are named, each with its file and line.
struct OverlookedPartsTests {
    private func warnings(_ change: (inout AppFiles) -> Void) -> [String] {
        var files = AppFixture.files
        change(&files)
        return AppDefinition.inspect(files).problems.map { problem in
            "\(problem.code.rawValue) \(problem.file)\(problem.line.map { ":\($0)" } ?? "") \(problem.pointer)"
        }
    }

    @Test func `the fixture has no problem`() { #expect(warnings { _ in } == []) }

    @Test func `IP access lists are named`() {
        #expect(
            warnings {
                $0.texts["realm_config.json"] = """
                    {"config_version": 20210101, "app_id": "shop-abcde", "name": "shop", "environment": "production",
                     "security": {"allowed_request_origins": [],
                       "ip_access_list": [{"address": "10.0.0.1"}]}}
                    """
                $0.otherFiles["security/ip_access_list.json"] = []
            } == [
                "feature-not-served realm_config.json:3 /security/ip_access_list",
                "feature-not-served security/ip_access_list.json ",
            ])
    }

    @Test func `field encryption, hosted files, odd environments and other sources are named`() {
        #expect(
            warnings {
                $0.texts["data_sources/mongodb-atlas/config.json"] = """
                    {"name": "mongodb-atlas", "type": "mongodb-atlas",
                     "config": {
                       "field_encryption": {"Shop.Customer": {}}}}
                    """
                $0.otherFiles = [
                    "hosting/files/index.html": [], "hosting/files/a.css": [], "functions/index.ts": [],
                    "functions/lib/x.mjs": [], "functions/types.d.ts": [], "functions/node_modules/a/b.ts": [],
                    "environments/.DS_Store": [], "environments/notes.md": [], "functions/.env.local": [],
                ]
                $0.texts["environments/staging/values.json"] = "{}"
            } == [
                "feature-not-served data_sources/mongodb-atlas/config.json:3 /config/field_encryption",
                "feature-not-served environments/notes.md ",
                "feature-not-served environments/staging/values.json:1 ",
                "secret-in-clear functions/.env.local ", "feature-not-served functions/index.ts ",
                "feature-not-served functions/lib/x.mjs ",
                "feature-not-served hosting/files/a.css ",
            ])
    }

    @Test func `unknown providers of triggers and relationships that lead nowhere are named`() {
        #expect(
            warnings {
                $0.texts["triggers/joined.json"] = """
                    {"name": "joined", "type": "AUTHENTICATION", "function_name": "greet",
                     "config": {"operation_type": "CREATE",
                       "providers": ["local-userpass",
                         "oauth2-twitter"]}}
                    """
                $0.texts["data_sources/mongodb-atlas/Shop/Customer/relationships.json"] = """
                    {"orders": {
                      "ref": "#/relationship/mongodb-atlas/Shop/Gone", "foreign_key": "_id", "is_list": true}}
                    """
            } == [
                "collection-unknown data_sources/mongodb-atlas/Shop/Customer/relationships.json:2 /orders/ref",
                "realm-class-unfit data_sources/mongodb-atlas/Shop/Customer/schema.json:4 /properties/orders/items",
                "field-value triggers/joined.json:4 /config/providers/1",
            ])
    }

    @Test func `a name that occurs twice is reported with its line`() {
        #expect(
            warnings {
                $0.texts["functions/config.json"] = """
                    [{"name": "confirm", "private": true}, {"name": "greet", "private": false},
                     {"name": "greet"}]
                    """
                $0.texts["values/more.json"] = #"{"name": "limit", "value": 1}"#
            }.filter { $0.hasPrefix("name-duplicate") } == [
                "name-duplicate functions/config.json:2 /2/name", "name-duplicate values/more.json:1 /name",
            ])
    }

    private static func write(_ files: AppFiles, to root: String) throws {
        for (path, text) in files.texts {
            let place = URL(fileURLWithPath: "\(root)/\(path.text)")
            try FileManager.default.createDirectory(
                at: place.deletingLastPathComponent(), withIntermediateDirectories: true)
            try Data(text.utf8).write(to: place)
        }
    }

    @Test func `files whose names aren't UTF-8 are named`() throws {
        let root = NSTemporaryDirectory() + UUID().uuidString
        defer { try? FileManager.default.removeItem(atPath: root) }
        try Self.write(AppFixture.files, to: root)
        func make(_ folder: String, _ name: [UInt8], isFolder: Bool = false) throws {
            let path = Array("\(root)/\(folder)".utf8) + name + [0]
            let isMade = path.withUnsafeBytes { bytes in
                guard let path = bytes.assumingMemoryBound(to: CChar.self).baseAddress else { return false }
                if isFolder { return mkdir(path, 0o755) == 0 }
                let file = open(path, O_CREAT | O_WRONLY, 0o644)
                return file >= 0 && close(file) == 0
            }
            try #require(isMade)
        }
        let odd = Array("caf".utf8) + [0xE9]
        try make("functions/", odd + Array(".js".utf8))
        try make("functions/", odd + Array(".md".utf8))
        try make("values/", odd, isFolder: true)
        try make("", odd + Array(".json".utf8))
        let files = try AppFiles(folder: root)
        #expect(
            files.problems.map { "\($0.file) \($0.code.rawValue) \($0.severity == .error)" }.sorted() == [
                "functions/caf\\xE9.js file-name-not-text true", "functions/caf\\xE9.md file-name-not-text false",
                "values/caf\\xE9 file-name-not-text true",
            ])
        #expect(!AppDefinition.inspect(files).isDeployable)
        let archived = try AppFiles(
            archived: [.init(path: "realm_config.json", bytes: Array("{}".utf8))],
            malformed: [("functions/a\\xE9.js", "functions/a\u{FFFD}.js")], in: "")
        #expect(archived.problems.map(\.file) == ["functions/a\\xE9.js"])
    }

    @Test func `folders whose names have the wrong capitals are named, if they have files such as an app's`() throws {
        let root = NSTemporaryDirectory() + UUID().uuidString
        defer { try? FileManager.default.removeItem(atPath: root) }
        var files = AppFixture.files
        files.texts["Triggers/nightly.json"] = "{}"
        files.texts["Triggers/daily.json"] = "{}"
        files.texts["Services/Program.cs"] = "class Program {}"
        files.texts["HTTP_Endpoints/config.json"] = "[]"
        try Self.write(files, to: root)
        let meant = [
            "warning: HTTP_Endpoints: nothing in it is read: if it is the app's, rename it to http_endpoints",
            "warning: Triggers: nothing in it is read: if it is the app's, rename it to triggers",
        ]
        func shown(_ files: AppFiles) -> [String] {
            files.problems.filter { $0.code == .folderMisnamed }
                .map { "\($0.severity.rawValue): \($0.file): \($0.message)" }.sorted()
        }
        #expect(shown(try AppFiles(folder: root)) == meant)
        let archived = files.texts.map { AppFiles.ArchivedFile(path: $0.key.text, bytes: Array($0.value.utf8)) }
            .filter { AppFiles.mayKeep(archived: $0.path) }
        #expect(shown(try AppFiles(archived: archived, in: "")) == meant)
    }

    @Test func `files of secrets are named, and not kept`() throws {
        let secrets = ["secrets.json", "functions/.env", "functions/.env.json", "hosting/files/.env.local"]
        var whole = AppFixture.files
        for path in secrets + ["elsewhere/.env", "functions/environment.md"] { whole.texts[path] = "{}" }
        let root = NSTemporaryDirectory() + UUID().uuidString
        defer { try? FileManager.default.removeItem(atPath: root) }  // the folder of this test alone
        try Self.write(whole, to: root)
        let archived = whole.texts.map { AppFiles.ArchivedFile(path: $0.key.text, bytes: Array($0.value.utf8)) }
            .filter { AppFiles.mayKeep(archived: $0.path) }
        for files in [try AppFiles(folder: root), try AppFiles(archived: archived, in: "")] {
            #expect(
                files.original.map(\.path).sorted() == (AppFixture.files.paths + ["functions/environment.md"]).sorted())
            let named = files.problems.filter { $0.code == .secretInClear && $0.severity == .warning }
            #expect(Set(texts: named.map(\.file)) == Set(texts: secrets))
            #expect(!AppDefinition.inspect(files).problems.contains { $0.severity == .error })
        }
    }

    @Test func `links are followed inside of the folder, and named otherwise`() throws {
        let root = NSTemporaryDirectory() + UUID().uuidString
        defer { try? FileManager.default.removeItem(atPath: root) }
        try Self.write(AppFixture.files, to: root)
        func link(_ path: String, _ target: String) throws {
            try FileManager.default.createSymbolicLink(atPath: "\(root)/\(path)", withDestinationPath: target)
        }
        try link("functions/hello.js", "greet.js")
        try link("functions/outside.js", "/etc/hostname")
        try link("functions/none.js", "nothing.js")
        try link("functions/loop", "../functions")
        let files = try AppFiles(folder: root)
        #expect(files["functions/hello.js"] == AppFixture.files["functions/greet.js"])
        #expect(files.problems.map(\.file) == ["functions/none.js", "functions/outside.js"])
        #expect(files.problems.allSatisfy { $0.code == .linkNotFollowed && $0.message.contains("this is a link to ") })
    }
}

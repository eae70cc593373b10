import ChildProcesses
import Foundation
import SyncEngine
import Testing

extension EndToEnd {
    /// An app folder with an error is refused as a whole, and the answer names file and place.
    struct BadAppTests {
        struct Damage: Sendable, CustomTestStringConvertible {
            let file: String
            let find: String
            let replacement: String
            /// How the line about it begins.
            let place: String

            var testDescription: String { file }
        }

        @Test(arguments: [
            Damage(
                file: "data_sources/mongodb-atlas/RChat/ChatMessage/rules.json",
                find: "\"insert\": {\n                \"author\": \"%%user.data.email\"",
                replacement: "\"insert\": {\n                \"author\": { \"$frobnicate\": 1 }",
                place: ":18 /roles/0/insert/author/$frobnicate: error"),
            Damage(
                file: "triggers/chatMessageSent.json", find: #""chatMessageChange""#, replacement: #""noSuchFunction""#,
                place: ":18 /event_processors/FUNCTION/config/function_name: error"),
            Damage(
                file: "functions/chatMessageChange.js", find: "exports = async", replacement: "exports = async async",
                place: ":2: error function-syntax"),
            Damage(file: "sync/config.json", find: #""state": "enabled","#, replacement: #""state": "#, place: ":3"),
        ])
        func `deploy refuses a folder with a damaged`(_ damage: Damage) async throws {
            let system = try await RunningSystem.shared()
            let version = try await deployedVersion(system)
            let folder = try TestApp.broken(damage.file, in: system) {
                $0.replacing(damage.find, with: damage.replacement)
            }
            let run = try await CapturedRun.run(
                CurrentEnvironment.sibling("partita"), ["app", "deploy", folder, "--data", system.directory])
            #expect(run.status == .exited(1))
            #expect(run.output.contains(damage.file + damage.place), "\(run.output)")
            #expect(try await deployedVersion(system) == version)
        }

        @Test func `a deployment that an index stops leaves no other index behind`() async throws {
            let system = try await RunningSystem.shared()
            var files = [
                "realm_config.json": #"{"config_version": 20210101, "app_id": "indexed", "name": "Indexed"}"#,
                "partita.json": #"{"indexes": [{"database": "A", "collection": "X", "key": {"old": 1}}]}"#,
            ]
            _ = try await TestApp.deploy("indexed", files, on: system)
            _ = try await system.query(
                #"insert into "indexed/A"."X" (document) select '{"v": 1}' from generate_series(1, 2)"#)
            files["partita.json"] = #"""
                {"indexes": [{"database": "A", "collection": "X", "key": {"other": 1}},
                             {"database": "A", "collection": "X", "key": {"v": 1}, "unique": true}]}
                """#
            let failure = await #expect(throws: SystemFailure.self) {
                _ = try await TestApp.deploy("indexed", files, on: system)
            }
            #expect(
                failure?.description.contains("partita.json: the index v_1 of A.X can't be created: E11000") == true,
                "\(failure?.description ?? "")")
            let names = try await system.query("select name from partita.indexes where app = 'indexed'")
            #expect(try names.map { try $0.decode(0, as: String.self) } == ["old_1"])
        }

        @Test(arguments: 0..<8)
        func `deploy changes nothing for a folder with a file cut at a random place`(seed: UInt64) async throws {
            let system = try await RunningSystem.shared()
            let version = try await deployedVersion(system)
            var random = SeededGenerator(seed: seed)
            let files = [
                "realm_config.json", "auth/providers.json", "sync/config.json", "functions/config.json",
                "triggers/chatMessageSent.json", "data_sources/mongodb-atlas/RChat/User/schema.json",
                "data_sources/mongodb-atlas/RChat/User/rules.json", "partita.json",
            ]
            let file = files[Int(seed) % files.count]
            let folder = try TestApp.broken(file, in: system) { text in
                // A text without its last bracket at least.
                let end = text.utf8.lastIndex { $0 == UInt8(ascii: "}") || $0 == UInt8(ascii: "]") } ?? text.endIndex
                let length = text.utf8.distance(from: text.startIndex, to: end)
                return String(decoding: text.utf8.prefix(Int.random(in: 1...length, using: &random)), as: UTF8.self)
            }
            let run = try await CapturedRun.run(
                CurrentEnvironment.sibling("partita"), ["app", "deploy", folder, "--data", system.directory])
            #expect(run.status == .exited(1))
            #expect(run.output.contains("\(file):") && run.output.contains("error json-invalid"), "\(run.output)")
            #expect(try await deployedVersion(system) == version)
        }

        @Test func `an app with flexible sync is deployed by the field that its permissions show`() async throws {
            let system = try await RunningSystem.shared()
            let files = [
                "realm_config.json": #"{"config_version": 20210101, "name": "Flexible App"}"#,
                "data_sources/mongodb-atlas/config.json": #"{"name": "mongodb-atlas", "type": "mongodb-atlas"}"#,
                "sync/config.json": """
                {"type": "flexible", "state": "enabled", "service_name": "mongodb-atlas", "database_name": "d",
                 "permissions": {"defaultRoles": [{"name": "o", "applyWhen": {}, "read": {"owner": "%%user.id"},
                   "write": {"owner": "%%user.id"}}]}}
                """,
                "data_sources/mongodb-atlas/d/c/schema.json":
                    #"{"title": "c", "bsonType": "object", "properties": {"owner": {"bsonType": "string"}}}"#,
            ]
            let proposed = try await TestApp.deploy("flexible", files, on: system)
            #expect(proposed.contains("deploy with --sync-by owner"), "\(proposed)")
            #expect(proposed.contains("flexible-app version 1 is deployed"), "\(proposed)")
            #expect(proposed.contains("  flexible sync     sync/config.json:1\n"), "\(proposed)")
            let taken = try await TestApp.deploy(
                "flexible", files, on: system, ["--sync-by", "owner", "--app-id", "fl"])
            #expect(taken.contains("d.c is synced") && taken.contains("fl version 1 is deployed"), "\(taken)")
            #expect(taken.contains("d in partitions by owner (string), 1 collections"), "\(taken)")
        }

        @Test func `a partition key that would take documents off devices needs --repartition`() async throws {
            let system = try await RunningSystem.shared()
            func files(key: String) -> [String: String] {
                [
                    "realm_config.json": #"{"config_version": 20210101, "app_id": "moved", "name": "Moved"}"#,
                    "data_sources/mongodb-atlas/config.json": #"{"name": "mongodb-atlas", "type": "mongodb-atlas"}"#,
                    "sync/config.json": """
                    {"state": "enabled", "service_name": "mongodb-atlas", "database_name": "d",
                     "partition": {"key": "\(key)", "type": "string", "permissions": {"read": false, "write": false}}}
                    """,
                    "data_sources/mongodb-atlas/d/c/schema.json":
                        #"{"title": "c", "bsonType": "object", "properties": {"team": {"bsonType": "string"}}}"#,
                ]
            }
            _ = try await TestApp.deploy("moved", files(key: "team"), on: system)
            // While there are no documents, none can be lost.
            _ = try await TestApp.deploy("moved", files(key: "taem"), on: system)
            _ = try await TestApp.deploy("moved", files(key: "team"), on: system)
            _ = try await system.query("select partita.ensure_collection('moved', 'd', 'c', 'team')")
            _ = try await system.query(#"insert into "moved/d".c (document) values ('{"_id": "a", "team": "t"}')"#)
            let refusal = await #expect(throws: SystemFailure.self) {
                _ = try await TestApp.deploy("moved", files(key: "taem"), on: system)
            }
            #expect(
                refusal?.description.contains("1 documents of d.c: not synced any more") == true,
                "\(String(describing: refusal))")
            #expect(refusal?.description.contains("--repartition") == true)
            let partition = try await system.query(#"select partition from "moved/d".c"#).decode(String.self)
            #expect(partition == ["s:t"])
            _ = try await TestApp.deploy("moved", files(key: "taem"), on: system, ["--repartition"])
            #expect(
                try await system.query(#"select partition from "moved/d".c"#).decode(String.self)[0].hasPrefix("i:"))
        }

        private func deployedVersion(_ system: RunningSystem) async throws -> String {
            let run = try await CapturedRun.run(
                CurrentEnvironment.sibling("partita"), ["app", "list", "--data", system.directory])
            // Other tests deploy apps of their own.
            guard run.status.isSuccess,
                let line = run.output.split(separator: "\n").first(where: { $0.hasPrefix("rchat ") })
            else { throw SystemFailure(description: run.output) }
            return String(line)
        }
    }
}

import ChildProcesses
import DocumentModel
import Foundation
import TestSupport
import Testing

extension EndToEnd {
    /// An operator who has the system's address and a token, and no access to Postgres.
    struct AdministrationTests {
        /// An app whose trigger fails as long as a document is missing.
        private static let operated: [String: String] = [
            "realm_config.json": #"{"config_version": 20210101, "app_id": "operated", "name": "Operated"}"#,
            "data_sources/mongodb-atlas/config.json":
                #"{"name": "mongodb-atlas", "type": "mongodb-atlas", "config": {"clusterName": "Cluster0"}}"#,
            "functions/config.json": #"[{"name": "log", "private": true}]"#,
            "functions/log.js": """
            exports = async ({ fullDocument }) => {
              const db = context.services.get('mongodb-atlas').db('Shop');
              if (!await db.collection('Switch').findOne({})) throw new Error('the switch is off');
              console.log('the switch is on');
              await db.collection('Log').insertOne({ of: fullDocument._id });
            };
            """,
            "triggers/ordered.json": """
            {"name": "ordered", "type": "DATABASE", "disabled": false,
             "config": {"service_name": "mongodb-atlas", "database": "Shop", "collection": "Order",
                        "operation_types": ["INSERT"], "full_document": true},
             "event_processors": {"FUNCTION": {"config": {"function_name": "log"}}}}
            """,
        ]

        private let system: RunningSystem
        private let folder: String

        init() async throws {
            system = try await RunningSystem.shared()
            folder = FileManager.default.temporaryDirectory.appendingPathComponent("admin-\(UUID().uuidString)").path
            try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
        }

        /// On the machine with Postgres.
        private func there(_ words: [String]) async throws -> String {
            let run = try await CapturedRun.run(
                CurrentEnvironment.sibling("partita"), words + ["--data", system.directory],
                environment: CurrentEnvironment.variables.filter { !$0.key.hasPrefix("PARTITA_") })
            guard run.status.isSuccess else { throw SystemFailure(description: run.output) }
            return run.output.trimmingCharacters(in: .whitespacesAndNewlines)
        }

        /// With the API only: nothing says where Postgres is, and no system is found in the data directory.
        private func here(_ words: [String], token: String) async throws -> CapturedRun {
            let own = CurrentEnvironment.variables.filter { !$0.key.hasPrefix("PARTITA_") }
            return try await CapturedRun.run(
                CurrentEnvironment.sibling("partita"),
                words + ["--server", system.publicURL, "--data", folder + "/nothing"],
                environment: own.merging(["PARTITA_ADMIN_TOKEN": token]) { $1 })
        }

        /// The output of a command that succeeds.
        private func done(_ words: [String], token: String) async throws -> String {
            let run = try await here(words, token: token)
            #expect(run.status.isSuccess, "\(words): \(run.output)")
            return run.output
        }

        @Test func `documents, indexes, logs, partitions, keys and dead letters need no Postgres`() async throws {
            defer { try? FileManager.default.removeItem(atPath: folder) }  // a temporary folder
            _ = try await TestApp.deploy("operated", Self.operated, on: system)
            let app = ["--app", "operated"]
            let token = try await there(
                ["admin-tokens", "create", "--role", "deploy", "--role", "triggers", "--role", "read-only"] + app)
            func tool(_ words: String...) async throws -> String { try await done(words + app, token: token) }
            /// The same, which must print what it prints on Postgres.
            func same(_ words: String...) async throws -> String {
                let output = try await done(words + app, token: token)
                let local = try await there(words + app)
                #expect(output.trimmingCharacters(in: .whitespacesAndNewlines) == local, "\(words)")
                return output
            }
            func letters() async throws -> [Document] {
                try await tool("triggers", "--failures", "--json").split(separator: "\n").map {
                    try ExtendedJSON.parseDocument(String($0))
                }
            }

            _ = try await tool("documents", "insert", "Shop.Order", #"{"_id": 1, "item": "pen"}"#)
            let letter = try await eventually("the dead letter", within: patience) { try await letters().first }
            let number = "\(letter["number"]?.int64Value ?? 0)"
            #expect(letter["reason"]?.stringValue?.contains("the switch is off") == true, "\(letter)")
            #expect(try await same("triggers", "--failures").contains("ordered"))
            let shown = try ExtendedJSON.parseDocument(try await same("triggers", "--failure", number))
            #expect(shown["received"]?["fullDocument"]?["item"] == "pen" && shown["attempts"]?.int64Value == 3)
            try await eventually("the log, and the same by both ways", within: patience) {
                let (lines, local) = (try await tool("logs"), try await there(["logs"] + app))
                return lines.contains("the switch is off") && lines == local + "\n"
            }
            #expect(try await tool("logs", "--last", "1").split(separator: "\n").count == 1)

            _ = try await tool("documents", "insert", "Shop.Switch", #"{"_id": "on"}"#)
            #expect(try await tool("triggers", "--replay", number).contains("published again"))
            try await eventually("the trigger has run again", within: patience) {
                try await tool("documents", "count", "Shop.Log", #"{"of": 1}"#) == "1\n"
            }
            #expect(try await letters().isEmpty)
            let again = try await here(["triggers", "--replay", number] + app, token: token)
            #expect(again.status == .exited(1) && again.output.contains("dead-letter-unknown"), "\(again.output)")
            // Somebody who had read it before it was marked as replayed publishes it once more, which runs nothing.
            _ = try await system.query("update partita.trigger_failures set replayed_at = null where id = \(number)")
            #expect(try await tool("triggers", "--replay", number).contains("published again"))
            _ = try await tool("documents", "insert", "Shop.Order", #"{"_id": 3}"#)
            try await eventually("a later event is handled", within: patience) {
                try await tool("documents", "count", "Shop.Log", #"{"of": 3}"#) == "1\n"
            }
            #expect(try await tool("documents", "count", "Shop.Log", #"{"of": 1}"#) == "1\n")

            #expect(
                try await tool("documents", "delete", "Shop.Switch", #"{"_id": "on"}"#).contains("deletedCount"))
            _ = try await tool("documents", "insert", "Shop.Order", #"{"_id": 2}"#)
            let second = try await eventually("the second dead letter", within: patience) {
                try await letters().first?["number"]?.int64Value
            }
            #expect(try await tool("triggers", "--discard", "\(second)").contains("is deleted"))
            #expect(try await letters().isEmpty)

            let many = (0..<1200).map { #"{"_id": \#($0)}"# }.joined(separator: ",")
            _ = try await tool("documents", "insert", "Shop.Many", "[\(many)]")
            #expect(try await same("documents", "find", "Shop.Many").split(separator: "\n").count == 1200)
            #expect(
                try await same("documents", "find", "Shop.Many", "--limit", "1100", "--skip", "50").split(
                    separator: "\n"
                ).count == 1100)
            #expect(try await same("documents", "count", "Shop.Many") == "1200\n")
            #expect(
                try await same("documents", "aggregate", "Shop.Many", #"[{"$count": "n"}]"#).contains("1200"))
            let cut = try await here(["documents", "aggregate", "Shop.Many", "[]"] + app, token: token)
            #expect(
                cut.status == .exited(1) && cut.output.contains("1000 results of more"), "\(cut.output.suffix(200))")
            #expect(
                try await tool("documents", "update", "Shop.Order", #"{"_id": 2}"#, #"{"$set": {"item": "ink"}}"#)
                    .contains("modifiedCount"))
            #expect(
                try await same("documents", "call", "Shop.Order", "distinct", #"{"field": "item"}"#).contains("ink"))
            #expect(try await same("documents", "find", "Shop.Order", "--sort", #"{"_id": -1}"#).contains("ink"))
            let refused = try await here(["documents", "find", "Shop.Order", #"{"$no": 1}"#] + app, token: token)
            #expect(refused.status == .exited(1) && refused.output.contains("MongoDBError: "), "\(refused.output)")

            let place = ["--database", "Shop"]
            let made = try await done(
                ["index", "create", "Order", #"{"key": {"item": 1}}"#] + place + app, token: token)
            #expect(made == "item_1\n")
            let indexes = try await done(["index", "list", "Order"] + place + app, token: token)
            #expect(indexes == (try await there(["index", "list", "Order"] + place + app)) + "\n")
            _ = try await done(["index", "drop", "Order", "item_1"] + place + app, token: token)

            #expect(try await same("partition", "show", "none").contains("never had one"))
            #expect(try await tool("partition", "serve-anew").contains("are served from the beginning"))
            let key = try await tool("api-key", "create", "importer")
            #expect(key.count > 20)
            #expect(try await same("api-key", "list").contains("importer"))
            #expect(try await tool("api-key", "delete", "importer").contains("is deleted"))

            let log = try await there(["audit"] + app)
            for act in [
                "dead-letter.replay  \(number)", "dead-letter.discard  \(second)",
                "document.write  Shop.Many insertMany",
                "index.drop  Shop Order item_1", "server-key.create  importer",
            ] { #expect(log.contains(act), "\(act): \(log.suffix(2000))") }
        }

        @Test func `an operator deploys, pauses a trigger, disables a user and reads the log by the API alone`()
            async throws
        {
            defer { try? FileManager.default.removeItem(atPath: folder) }  // a temporary folder
            let person = try await TestDevice.register("audited", on: system)
            let user = person.session.userId
            try await person.close()
            let roles = ["deploy", "users", "secrets", "triggers", "read-only"].flatMap { ["--role", $0] }
            let token = try await there(
                ["admin-tokens", "create", "--name", "the operator", "--expires", "1"] + roles)

            let deployed = try await done(["app", "deploy", TestApp.rchat, "--message", "by the API"], token: token)
            #expect(deployed.contains("rchat "), "\(deployed)")
            #expect(deployed == (try await there(["app", "deploy", TestApp.rchat])) + "\n")
            #expect(
                try await done(["app", "deploy", TestApp.rchat, "--dry-run"], token: token).contains(
                    "nothing was changed"))
            #expect(try await done(["app", "diff", TestApp.rchat], token: token).contains("nothing differs"))
            #expect(try await done(["app", "list"], token: token).contains("rchat  version"))
            #expect(try await done(["check", "--app", "rchat"], token: token).contains("consistent"))

            #expect(try await done(["app", "export", "rchat", folder + "/rchat"], token: token).contains("files"))
            let exported = try await done(["app", "diff", folder + "/rchat"], token: token)
            #expect(exported.contains("nothing differs"), "\(exported)")
            let bytes = try Data(contentsOf: URL(fileURLWithPath: TestApp.rchat + "/triggers/userWritten.json"))
            #expect(try Data(contentsOf: URL(fileURLWithPath: folder + "/rchat/triggers/userWritten.json")) == bytes)

            let triggers = try await done(["triggers", "--app", "rchat", "--json"], token: token)
            let line = try #require(triggers.split(separator: "\n").first)
            let trigger = try #require(try ExtendedJSON.parseDocument(String(line))["trigger"]?.stringValue)
            _ = try await done(["triggers", "pause", trigger, "--app", "rchat"], token: token)
            let paused = try await done(["triggers", "--app", "rchat"], token: token)
            #expect(paused.contains("\(trigger)  paused by the operator@127.0.0.1"), "\(paused)")
            #expect(paused == (try await there(["triggers", "--app", "rchat"])) + "\n")
            _ = try await done(["triggers", "resume", trigger, "--app", "rchat"], token: token)

            let disabled = try await done(["users", "disable", user, "--app", "rchat"], token: token)
            #expect(disabled.contains("\(user) is disabled"))
            #expect(
                try await done(["users", "show", user, "--app", "rchat"], token: token).contains(#""disabled":true"#))
            _ = try await done(["users", "enable", user, "--app", "rchat"], token: token)
            #expect(
                try await done(["app", "explain", "--app", "rchat", "--user", user, "--partition", "x"], token: token)
                    .contains(user))

            let weak = try await there(["admin-tokens", "create", "--role", "triggers", "--app", "rchat"])
            let refused = try await here(["app", "remove", "rchat", "--yes"], token: weak)
            #expect(refused.status == .exited(1) && refused.output.contains("AdminRoleMissing"), "\(refused.output)")

            let log = try await done(["audit", "--app", "rchat", "--json"], token: token)
            let records = try log.split(separator: "\n").map { try ExtendedJSON.parseDocument(String($0)) }
            func has(_ action: String, target: String? = nil, outcome: String = "done") -> Bool {
                records.contains {
                    $0["action"]?.stringValue == action && $0["outcome"]?.stringValue == outcome
                        && $0["target"]?.stringValue == target && $0["address"] == "127.0.0.1"
                }
            }
            #expect(has("app.deploy") && has("app.export") && has("trigger.pause", target: trigger), "\(log)")
            #expect(has("user.disable", target: user) && has("app.show", outcome: "AdminRoleMissing"), "\(log)")
            #expect(try await there(["audit", "--app", "rchat"]).contains("the operator"))

            let id = String(token.split(separator: "_")[1])
            #expect(try await there(["admin-tokens", "list"]).contains("\(id)  active"))
            _ = try await there(["admin-tokens", "revoke", id])
            let gone = try await here(["app", "list"], token: token)
            #expect(gone.status == .exited(1) && gone.output.contains("AdminTokenRevoked"), "\(gone.output)")
            let none = try await here(["app", "list"], token: "")
            #expect(none.status == .exited(64) && none.output.contains("PARTITA_ADMIN_TOKEN isn't set"))
        }
    }
}

import ChildProcesses
import DocumentModel
import Foundation
import TestSupport
import Testing

extension EndToEnd {
    /// Triggers without `"unordered": true`: their function runs for one event after the other.
    struct OrderedTriggerTests {
        private static func trigger(_ name: String, on collection: String, function: String) -> String {
            """
            {"name": "\(name)", "type": "DATABASE", "disabled": false,
             "config": {"service_name": "mongodb-atlas", "database": "d", "collection": "\(collection)",
                        "operation_types": ["INSERT", "UPDATE"], "full_document": true},
             "event_processors": {"FUNCTION": {"config": {"function_name": "\(function)"}}}}
            """
        }

        private static let base: [String: String] = [
            "data_sources/mongodb-atlas/config.json":
                #"{"name": "mongodb-atlas", "type": "mongodb-atlas", "config": {"clusterName": "Cluster0"}}"#,
            "triggers/onItem.json": trigger("onItem", on: "Item", function: "add"),
            "triggers/onOther.json": trigger("onOther", on: "Other", function: "copy"),
            "functions/config.json": #"[{"name": "add", "private": true}, {"name": "copy", "private": true}]"#,
            "functions/copy.js": """
            exports = ({ documentKey }) =>
              context.services.get("mongodb-atlas").db("d").collection("Copy").insertOne({ _id: documentKey._id });
            """,
        ]

        private static func app(_ name: String, add: String) -> [String: String] {
            base.merging([
                "realm_config.json": #"{"config_version": 20210101, "app_id": "\#(name)", "name": "\#(name)"}"#,
                "functions/add.js": add,
            ]) { $1 }
        }

        private func tool(_ words: [String], of app: String?, on system: RunningSystem) async throws -> String {
            let run = try await CapturedRun.run(
                CurrentEnvironment.sibling("partita"),
                words + (app.map { ["--app", $0] } ?? []) + ["--data", system.directory],
                environment: CurrentEnvironment.variables.filter { !$0.key.hasPrefix("PARTITA_") })
            guard run.status.isSuccess else { throw SystemFailure(description: run.output) }
            return run.output.trimmingCharacters(in: .whitespacesAndNewlines)
        }

        private func insert(
            _ numbers: Range<Int>, into collection: String, of app: String, on system: RunningSystem
        ) async throws {
            let documents = numbers.map { #"{"_id": \#($0), "n": 0}"# }.joined(separator: ",")
            _ = try await tool(["documents", "insert", "d.\(collection)", "[\(documents)]"], of: app, on: system)
        }

        @Test func `what the function reads and writes back is right through kills of the workers`() async throws {
            let system = try await RunningSystem.shared()
            let app = Self.app(
                "inorder",
                add: """
                    exports = async ({ documentKey, fullDocument }) => {
                      const totals = context.services.get("mongodb-atlas").db("d").collection("Total");
                      const { count = 0, last = {}, disorder = 0 } = await totals.findOne({ _id: 1 }) ?? {};
                      const key = "of" + documentKey._id, isLate = (last[key] ?? -1) >= fullDocument.n;
                      last[key] = fullDocument.n;
                      await totals.replaceOne({ _id: 1 }, { count: count + 1, last, disorder: disorder + (isLate ? 1 : 0) }, { upsert: true });
                    };
                    """)
            _ = try await TestApp.deploy("inorder", app, on: system)
            func count() async throws -> Int {
                let total = try await tool(["documents", "find", "d.Total"], of: "inorder", on: system)
                return total.isEmpty ? 0 : Int(try ExtendedJSON.parseDocument(total)["count"]?.int64Value ?? 0)
            }
            // 300 documents, of which ten change 20 times.
            try await insert(0..<300, into: "Item", of: "inorder", on: system)
            let changing = Task {
                for _ in 0..<20 {
                    _ = try await tool(
                        ["documents", "update", "d.Item", #"{"_id": {"$lt": 10}}"#, #"{"$inc": {"n": 1}}"#, "--many"],
                        of: "inorder", on: system)
                }
            }
            for least in [50, 150, 300] {
                try await eventually("\(least) events are handled", within: .seconds(60)) { try await count() >= least }
                try await system.replace("trigger-workers")
            }
            try await changing.value
            try await eventually("all events are handled", within: .seconds(90)) { try await count() >= 500 }
            let total = try ExtendedJSON.parseDocument(
                try await tool(["documents", "find", "d.Total"], of: "inorder", on: system))
            #expect(total["count"]?.int64Value == 500 && total["disorder"]?.int64Value == 0, "\(total)")
            #expect(try await tool(["triggers", "--failures", "--json"], of: "inorder", on: system).isEmpty)
        }

        /// The events come by many Kafka partitions: others may be there before the interrupted one is delivered again.
        @Test func `a run that was killed between two writes goes on before any other`() async throws {
            let system = try await RunningSystem.shared()
            var app = Self.app(
                "halfway",
                add: """
                    exports = async ({ documentKey }) => {
                      const database = context.services.get("mongodb-atlas").db("d");
                      const { count = 0 } = await database.collection("Total").findOne({ _id: 1 }) ?? {};
                      await database.collection("Log").insertOne({ _id: documentKey._id, count });
                      await new Promise(done => setTimeout(done, 30));
                      await database.collection("Total").replaceOne({ _id: 1 }, { count: count + 1 }, { upsert: true });
                    };
                    """)
            app["sync/config.json"] = """
                {"state": "enabled", "service_name": "mongodb-atlas", "database_name": "d",
                 "partition": {"key": "p", "type": "string", "required": false, "permissions": {"read": true, "write": true}}}
                """
            _ = try await TestApp.deploy("halfway", app, on: system)
            let documents = (0..<240).map { #"{"_id": \#($0), "p": "part-\#($0 % 24)"}"# }.joined(separator: ",")
            _ = try await tool(["documents", "insert", "d.Item", "[\(documents)]"], of: "halfway", on: system)
            func count(_ collection: String) async throws -> Int {
                Int(try await tool(["documents", "count", "d.\(collection)"], of: "halfway", on: system)) ?? 0
            }
            for least in [20, 80, 160] {
                try await eventually("\(least) runs have begun", within: .seconds(60)) {
                    try await count("Log") >= least
                }
                try await system.replace("trigger-workers")
            }
            try await eventually("all events are handled", within: .seconds(90)) { try await count("Log") == 240 }
            try await eventually("the last one, too", within: .seconds(20)) {
                try await tool(["documents", "find", "d.Total"], of: "halfway", on: system).contains("240")
            }
            let counts = try await tool(["documents", "find", "d.Log", "{}"], of: "halfway", on: system)
                .split(separator: "\n").map { try ExtendedJSON.parseDocument(String($0))["count"]?.int64Value }
            #expect(Set(counts).count == 240, "two runs have read the same total")
        }

        /// More than wait in the workers' memory, so that changes of the app are read from Postgres in turn.
        @Test func `tens of thousands of events that wait for a slow function don't hold up other collections`()
            async throws
        {
            let system = try await RunningSystem.shared()
            let app = Self.app(
                "slowly", add: "exports = () => new Promise(done => setTimeout(done, 100));")
            _ = try await TestApp.deploy("slowly", app, on: system)
            for start in stride(from: 0, to: 24_000, by: 1000) {
                try await insert(start..<(start + 1000), into: "Item", of: "slowly", on: system)
            }
            try await Task.sleep(for: .seconds(3))  // for what the workers have read by then
            let start = ContinuousClock.now
            try await insert(0..<8, into: "Other", of: "slowly", on: system)
            try await eventually("the other collection's events are handled", within: .seconds(20)) {
                try await tool(["documents", "count", "d.Copy"], of: "slowly", on: system) == "8"
            }
            print(
                "eight events beside 24,000 took",
                (ContinuousClock.now - start).formatted(.units(allowed: [.seconds, .milliseconds])))
            let states = try await tool(["triggers"], of: "slowly", on: system)
            #expect(states.contains(try Regex("2[0-9]{4} changes of documents wait for the workers")), "\(states)")
            _ = try await tool(["app", "remove", "slowly", "--yes"], of: nil, on: system)
        }
    }
}

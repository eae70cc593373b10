import ChildProcesses
import DocumentModel
import Foundation
import SyncEngine
import SyncProtocol
import TestSupport
import Testing

extension EndToEnd {
    /// `partita logs` has what an app's functions write, whichever service runs them.
    struct ConsoleTests {
        private static let files: [String: String] = [
            "realm_config.json": #"{"config_version": 20210101, "app_id": "console", "name": "Console"}"#,
            "auth/providers.json": """
            {"custom-function": {"name": "custom-function", "type": "custom-function", "disabled": false,
                                 "config": {"authFunctionName": "signIn"}}}
            """,
            "data_sources/mongodb-atlas/config.json":
                #"{"name": "mongodb-atlas", "type": "mongodb-atlas", "config": {"clusterName": "Cluster0"}}"#,
            "sync/config.json": """
            {"state": "enabled", "service_name": "mongodb-atlas", "database_name": "d",
             "partition": {"key": "team", "type": "string", "permissions": {"write": false, "read": {
                "%%true": {"%function": {"name": "mayOpen", "arguments": ["%%partition"]}}}}}}
            """,
            "data_sources/mongodb-atlas/d/Note/schema.json":
                #"{"title": "Note", "bsonType": "object", "properties": {"team": {"bsonType": "string"}}}"#,
            "data_sources/mongodb-atlas/d/Note/rules.json": """
            {"roles": [{"name": "all", "read": true,
                        "apply_when": {"%%true": {"%function": {"name": "mayRead", "arguments": ["%%root.team"]}}}}]}
            """,
            "functions/config.json": """
            [{"name": "signIn", "private": true}, {"name": "mayOpen", "private": true}, {"name": "mayRead", "private": true}]
            """,
            "functions/signIn.js":
                "exports = ({name}) => { console.log(`signing in ${name}`); if (name === 'eve') throw new Error('not her'); return name; };",
            "functions/mayOpen.js": "exports = team => { console.warn(`opening ${team}`); return true; };",
            "functions/mayRead.js":
                "exports = team => { console.log(`reading of ${team}`); throw new Error('no idea'); };",
        ]

        @Test func `functions of sign-ins, of partitions and of data rules are heard`() async throws {
            let system = try await RunningSystem.shared()
            _ = try await TestApp.deploy("console", Self.files, on: system)
            func tool(_ words: String...) async throws -> String {
                let run = try await CapturedRun.run(
                    CurrentEnvironment.sibling("partita"), words + ["--app", "console", "--data", system.directory])
                guard run.status.isSuccess else { throw SystemFailure(description: run.output) }
                return run.output
            }
            _ = try await tool("documents", "insert", "d.Note", #"{"_id": 1, "team": "red"}"#)
            let client = HTTPCaller(root: system.publicURL + "/api/client/v2.0/app/console", system: system)
            let path = "/auth/providers/custom-function/login"
            let refused = try await client.post(path, #"{"name": "eve"}"#)
            #expect(refused.status == 401 && !refused.text.contains("not her"), "\(refused.text)")
            let signIn = try await client.post(path, #"{"name": "ada"}"#)
            let token = try #require(try ExtendedJSON.parse(signIn.body)["access_token"]?.stringValue, "\(signIn.text)")

            let device = try await RawDevice.connect(system, app: "console")
            try await device.greet(token)
            let partition = try #require(Partition(value: .string("blue")))
            device.send(.subscribe(partition: partition, checkpoint: Revision(epoch: 1, number: 0)))
            try await device.wait("the partition") { if case .revoked = $0 { false } else { "\($0)".contains("blue") } }
            device.close()
            let find =
                #"{"service": "mongodb-atlas", "name": "find", "arguments": [{"database": "d", "collection": "Note"}]}"#
            #expect(try await client.post("/functions/call", find, token: token).status == 400)

            try await eventually("all of it is in the logs", within: patience) {
                let logs = try await tool("logs")
                return [
                    "signing in eve", "FunctionExecutionError: not her", "signing in ada", "opening blue",
                    "reading of red",
                    "FunctionExecutionError: no idea",
                ].allSatisfy(logs.contains)
            }
        }
    }
}

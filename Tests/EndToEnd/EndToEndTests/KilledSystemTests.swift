import ChildProcesses
import Foundation
import Glibc
import LocalEngines
import TestSupport
import Testing

extension EndToEnd {
    /// What `partita up` started doesn't outlive it, and the next one finds its data.
    struct KilledSystemTests {
        /// The embedded broker and Redis lose everything: keys, grants, offsets, app definitions, who is online. All of it comes
        /// back from Postgres, or from the devices.
        @Test func `kill -9 of up leaves nothing behind, and the next up continues with its data`() async throws {
            let name = "partita-e2e-killed-\(getpid())"
            let first = try await RunningSystem.start(name, isEmbedded: true)
            let ada = try await TestDevice.register("ada", on: first)
            let ben = try await TestDevice.register("ben", on: first)
            try await eventually("both are on-line", within: .seconds(20)) {
                let presences = [try await ada.userRow()["presence"], try await ben.userRow()["presence"]]
                return presences.allSatisfy { $0 == "On-Line" }
            }
            let processes = try first.processes
            first.up.signal(SIGKILL)
            try await eventually("nothing of it runs", within: .seconds(10)) {
                processes.values.allSatisfy { kill($0, 0) != 0 }
            }
            for port in first.basePort..<first.basePort + 15 { #expect(!LocalPort.isTaken(port)) }
            await ben.session.goOffline()
            try await ada.own.write {
                $0.update(
                    "User", id: .string(ada.session.userId), ["$set": ["userPreferences.displayName": "Ada Lovelace"]])
            }

            let start = ContinuousClock.now
            let second = try await RunningSystem.start(name, basePort: first.basePort, isEmbedded: true)
            print("up again \(ContinuousClock.now - start) after it was killed")
            try await eventually("what was written meanwhile is acknowledged", within: .seconds(30)) {
                try await ada.own.pending().isEmpty
            }
            try await eventually("a trigger has carried it on", within: .seconds(30)) {
                try await second.query(
                    #"select document ->> 'displayName' from "rchat/RChat"."Chatster" where _id = $1"#,
                    [.text("s:" + ada.session.userId)]
                ).decode(String.self) == ["Ada Lovelace"]
            }
            try await eventually("who didn't come back is off-line", within: .seconds(20)) {
                try await ben.userRow()["presence"] == "Off-Line"
            }
            #expect(try await ada.userRow()["presence"] == "On-Line")
            try await ada.close()
            try await ben.close()
            #expect(await second.up.terminate(grace: .seconds(40)) == .exited(0))
            try await Self.requireTheKey(second)
        }

        /// A lost encryption key isn't replaced: the services couldn't read what is encrypted with it.
        private static func requireTheKey(_ system: RunningSystem) async throws {
            let key = system.directory + "/encryption.key"
            let text = try String(contentsOfFile: key, encoding: .utf8)
            try FileManager.default.removeItem(atPath: key)
            let failed = try await CapturedRun.run(
                CurrentEnvironment.sibling("partita"),
                ["up", "--data", system.directory, "--port", "\(system.basePort)", "--app", TestApp.rchat],
                environment: CurrentEnvironment.variables.filter {
                    !$0.key.hasPrefix("PARTITA_") && $0.key != "KAFKA_HOME"
                })
            #expect(failed.status == .exited(1) && failed.output.contains("\(key) is missing"), "\(failed.output)")
            #expect(!FileManager.default.fileExists(atPath: key))
            #expect(try system.setting("encryption.keys") == text.trimmingCharacters(in: .newlines))
        }
    }
}

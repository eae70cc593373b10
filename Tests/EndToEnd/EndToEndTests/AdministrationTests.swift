import ChildProcesses
import DocumentModel
import Foundation
import Testing

extension EndToEnd {
    /// An operator who has the system's address and a token, and no access to Postgres.
    struct AdministrationTests {
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

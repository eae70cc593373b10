import ChildProcesses
import Foundation
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
                find: #""insert": { "author": "%%user.data.email" }"#,
                replacement: #""insert": { "author": { "$frobnicate": 1 } }"#,
                place: ":14 /roles/0/insert/author/$frobnicate: error"),
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

        private func deployedVersion(_ system: RunningSystem) async throws -> String {
            let run = try await CapturedRun.run(
                CurrentEnvironment.sibling("partita"), ["app", "list", "--data", system.directory])
            guard run.status.isSuccess, run.output.contains("rchat") else {
                throw SystemFailure(description: run.output)
            }
            return run.output
        }
    }
}

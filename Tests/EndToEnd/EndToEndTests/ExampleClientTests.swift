import ChildProcesses
import DocumentModel
import Foundation
import PartitaClient
import TestSupport
import Testing

extension EndToEnd {
    /// The client in the documentation, which shares no code with ours.
    struct ExampleClientTests {
        private static let script =
            TestApp.rchat + "/../../../Libraries/SyncProtocol/SyncProtocol.docc/Resources/client.py"

        /// Runs it for a device's user and partition.
        /// - Returns: the documents that it prints.
        private func run(_ device: TestDevice, _ file: String, _ write: [String] = [], on system: RunningSystem)
            async throws -> [Document]
        {
            let run = try await CapturedRun.run(
                "/usr/bin/env",
                [
                    "python3", Self.script, system.publicURL, "rchat", device.email, TestDevice.password,
                    device.own.partition.text, "\(system.directory)/\(file)",
                ] + write, environment: CurrentEnvironment.variables)
            guard run.status.isSuccess else { throw SystemFailure(description: run.output) }
            return try run.output.split(separator: "\n").map { try ExtendedJSON.parseDocument(String($0)) }
        }

        private func name(in document: Document?) -> String? {
            document?["userPreferences"]?["displayName"]?.stringValue
        }

        @Test func `a client of two hundred lines of Python syncs a partition, and a copy of it loses nothing`()
            async throws
        {
            let system = try await RunningSystem.shared()
            let ada = try await TestDevice.register("ada", on: system)
            let id = ada.session.userId, file = "\(ada.email).json", copy = "\(ada.email)-copy.json"
            #expect(try await run(ada, file, on: system).map(\.id) == [.string(id)])

            let set = ["User", "\"\(id)\"", "userPreferences.displayName"]
            let written = try await run(ada, file, set + ["from Python"], on: system)
            #expect(name(in: written.first) == "from Python")
            try await eventually("our client has it") { name(in: try await ada.user()) == "from Python" }

            try await ada.own.write {
                $0.update("User", id: .string(id), ["$set": ["userPreferences.displayName": "from Swift"]])
            }
            try await ada.own.waitForUploads()
            #expect(name(in: try await run(ada, file, on: system).first) == "from Swift")

            // Both write under the same version.
            try FileManager.default.copyItem(
                atPath: "\(system.directory)/\(file)", toPath: "\(system.directory)/\(copy)")
            _ = try await run(ada, file, set + ["the original"], on: system)
            let forked = try await run(ada, copy, set + ["the copy"], on: system)
            #expect(name(in: forked.first) == "the copy")
            #expect(name(in: try await run(ada, file, on: system).first) == "the copy")
            let devices = try await system.query(
                "select count(*) from partita.uploads where app = 'rchat' and user_id = $1 and last_version > 0",
                [.text(id)])
            #expect(try devices.decode(Int.self) == [3], "ours, Python's, and the copy's new one")
            try await ada.close()
        }
    }
}

import ChildProcesses
import DocumentModel
import Foundation
import PartitaClient
import TestSupport
import Testing

extension EndToEnd {
    /// A system and devices that an older version has left behind (`Tests/Vectors/Upgrades`).
    struct UpgradedSystemTests {
        @Test(arguments: try OldSystem.versions())
        func `users, devices, photos and what operators have set go on after an upgrade`(version: String) async throws {
            let name = "partita-e2e-upgraded-\(getpid())"
            let new = try await RunningSystem.start(name)
            #expect(await new.up.terminate(grace: .seconds(40)) == .exited(0))
            let old = try await OldSystem.unpack(version, in: new.directory)
            try await SystemBackup.run("partita restore", old.backup, new)
            try old.key.write(toFile: "\(new.directory)/encryption.key", atomically: true, encoding: .utf8)
            let system = try await RunningSystem.start(name, basePort: new.basePort)
            try await system.check()

            // Ada's device has two changes that it hasn't sent, and lacks one.
            let ada = try await old.device("ada", on: system)
            let talk = TestConversation(id: "talk", system: system)
            let messages = try await ada.session.openPartition(talk.partition, waitForFirstSync: true)
            try await messages.waitForUploads()
            try await talk.waitUntilSame(messages)
            #expect(try await messages.rejected().isEmpty)
            let expected = ["a2", "a3", "a4", "a5", "after", "b1", "b2", "b3", "photo", "unsent"]
            #expect(try await talk.rows().keys.sorted() == expected.map { "s:" + $0 })
            #expect(try await messages.document("ChatMessage", id: "a2")?["text"] == "Ada 2, edited offline")
            #expect(try await messages.document("ChatMessage", id: "b1")?["text"] == "Ben 1, edited")
            let sent = try await talk.inserts().filter { $0.hasSuffix("unsent") || $0.hasSuffix("a2") }
            #expect(sent == ["insert s:a2", "insert s:unsent", "update s:a2"], "each once")

            // Ben's gets them, and answers.
            let ben = try await old.device("ben", on: system)
            let answers = try await ben.session.openPartition(talk.partition, waitForFirstSync: true)
            try await talk.waitUntilSame(answers)
            try await answers.write {
                $0.update("ChatMessage", id: "unsent", ["$set": ["text": "read after the upgrade"]])
            }
            try await answers.waitForUploads()
            try await talk.waitUntilSame(messages)

            // Cleo was removed from the other conversation.
            let cleo = try await old.device("cleo", on: system)
            await #expect(throws: (any Error).self) {
                _ = try await cleo.session.openPartition("conversation=left", waitForFirstSync: true)
            }

            let photo = try await messages.document("ChatMessage", id: "photo")
            let link = try #require(photo?["image"]?["pictureURL"]?.stringValue.flatMap { URL(string: $0) })
            let picture = try await HTTPCaller(root: system.publicURL, system: system).get(
                link.path(percentEncoded: true), token: try await old.accessToken("ada", on: system))
            #expect(picture.status == 200)
            #expect(picture.body.starts(with: [0x89, 0x50, 0x4E, 0x47]))  // a PNG

            #expect(try await tool(["triggers", "--app", "rchat"], system).contains("userDeleted  paused"))
            #expect(try await tool(["secret", "list", "--app", "rchat"], system).contains("API_KEY"))
            _ = try await tool(["secret", "rotate"], system)
            #expect(
                try await tool(["app", "list", "--server", system.publicURL], system, token: old.token).contains(
                    "rchat")
            )
            for device in [ada, ben, cleo] { try await device.close() }
            #expect(await system.up.terminate(grace: .seconds(40)) == .exited(0))
        }

        private func tool(_ words: [String], _ system: RunningSystem, token: String? = nil) async throws -> String {
            var environment = SystemBackup.environment(system)
            if let token {
                environment["PARTITA_ADMIN_TOKEN"] = token
                environment["PARTITA_DATA"] = system.directory + "/nothing"
            }
            let run = try await CapturedRun.run(
                CurrentEnvironment.sibling("partita"), words, environment: environment)
            #expect(run.status.isSuccess, "\(words): \(run.output)")
            return run.output
        }
    }
}

/// What an older version has left behind: a backup with its keys, the stores of devices, and a token of the administration API.
private struct OldSystem {
    private static let folder = URL(fileURLWithPath: #filePath).deletingLastPathComponent()
        .appendingPathComponent("../../Vectors/Upgrades").standardizedFileURL.path
    private static let suffix = ".tar.gz"

    let backup: String
    let key: String
    let token: String
    private let devices: String

    /// The days of the versions.
    static func versions() throws -> [String] {
        try FileManager.default.contentsOfDirectory(atPath: folder)
            .filter { $0.hasSuffix(suffix) }.map { String($0.dropLast(suffix.count)) }.sorted()
    }

    static func unpack(_ version: String, in directory: String) async throws -> OldSystem {
        let place = "\(directory)/old"
        try FileManager.default.createDirectory(atPath: place, withIntermediateDirectories: true)
        let run = try await CapturedRun.run("/bin/tar", ["-xzf", "\(folder)/\(version)\(suffix)", "-C", place])
        guard run.status.isSuccess else { throw SystemFailure(description: run.output) }
        func text(_ file: String) throws -> String {
            try String(contentsOfFile: "\(place)/\(file)", encoding: .utf8).trimmingCharacters(in: .newlines)
        }
        let keys = try text("backup/keys.env").split(separator: "=").last.map(String.init)
        return OldSystem(
            backup: "\(place)/backup", key: try #require(keys), token: try text("token"), devices: "\(place)/devices")
    }

    /// The device of a person, with what it has stored. Its session may have expired.
    func device(_ name: String, on system: RunningSystem) async throws -> AppUser {
        try await AppUser.signIn(email(name), to: "rchat", on: system, folder: "\(devices)/\(name)")
    }

    func accessToken(_ name: String, on system: RunningSystem) async throws -> String {
        let login = try await HTTPCaller(root: system.publicURL, system: system).post(
            "/api/client/v2.0/app/rchat/auth/providers/local-userpass/login",
            #"{"username": "\#(email(name))", "password": "\#(TestDevice.password)"}"#)
        return try #require(try ExtendedJSON.parseDocument(login.body)["access_token"]?.stringValue)
    }

    private func email(_ name: String) -> String { "\(name)@example.com" }
}

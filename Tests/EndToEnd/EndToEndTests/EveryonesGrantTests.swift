import ChildProcesses
import DocumentModel
import Foundation
import PartitaClient
import TestSupport
import Testing

extension EndToEnd {
    /// Rules that allow all users the same.
    struct EveryonesGrantTests {
        /// An app whose partitions are users' ids.
        private static func files(rule: String) -> [String: String] {
            [
                "realm_config.json": #"{"config_version": 20210101, "app_id": "board", "name": "Board"}"#,
                "auth/providers.json": #"{"anon-user": {"name": "anon-user", "type": "anon-user", "disabled": false}}"#,
                "data_sources/mongodb-atlas/config.json": #"{"name": "mongodb-atlas", "type": "mongodb-atlas"}"#,
                "sync/config.json": """
                {"state": "enabled", "service_name": "mongodb-atlas", "database_name": "d",
                 "partition": {"key": "owner", "type": "string", "required": true, "permissions": {
                   "read": \(rule), "write": \(rule)}}}
                """,
                "data_sources/mongodb-atlas/d/Note/schema.json": """
                {"title": "Note", "bsonType": "object",
                 "properties": {"_id": {"bsonType": "string"}, "owner": {"bsonType": "string"}}}
                """,
            ]
        }

        private func signIn(_ system: RunningSystem) async throws -> (PartitaApp, Session) {
            let folder = "\(system.directory)/devices/\(UUID().uuidString)"
            try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
            var configuration = PartitaConfiguration(
                appId: "board", baseURL: system.publicURL, directory: folder, loop: system.loop)
            configuration.reconnect = (.milliseconds(200), .seconds(1))
            let app = try await PartitaApp(configuration)
            return (app, try await app.logIn(.anonymous))
        }

        /// The users with a grant, `*` for all.
        private func holders(_ system: RunningSystem) async throws -> [String] {
            try await system.query(
                "select user_id from partita.grants where app = 'board' and access <> 'none' order by 1"
            )
            .decode(String.self)
        }

        @Test func `rules that allow all the same are one grant, and others take its place without a loss`()
            async throws
        {
            let system = try await RunningSystem.shared()
            _ = try await TestApp.deploy("board", Self.files(rule: "true"), on: system)
            var people: [(app: PartitaApp, session: Session)] = []
            for _ in 0..<3 { people.append(try await signIn(system)) }
            let owner = people[0].session.userId
            var handles: [PartitionHandle] = []
            for person in people {
                let handle = try await person.session.openPartition(.string(owner), waitForFirstSync: true)
                try await handle.write {
                    $0.insert("Note", ["_id": .string(person.session.userId), "owner": .string(owner)])
                }
                try await handle.waitForUploads()
                handles.append(handle)
            }
            #expect(try await holders(system) == ["*"])
            try await eventually("all see all") {
                for handle in handles where try await handle.find("Note").count != 3 { return false }
                return true
            }

            // The owner's device is never told that the data may not be read.
            let states = try await handles[0].states()
            let wasRevoked = Task {
                for await state in states where state.revoked != nil { return true }
                return false
            }
            let own = Self.files(rule: #"{"%%partition": "%%user.id"}"#)
            let folder = "\(system.directory)/board"
            try own["sync/config.json"]?.write(
                toFile: folder + "/sync/config.json", atomically: true, encoding: .utf8)
            let difference = try await CapturedRun.run(
                CurrentEnvironment.sibling("partita"), ["app", "diff", folder, "--data", system.directory])
            #expect(difference.output.contains("2 lose, 0 gain"), "\(difference.output)")
            _ = try await TestApp.deploy("board", own, on: system)
            for handle in handles.dropFirst() {
                try await eventually("the others lose it", within: patience) {
                    do {
                        _ = try await handle.find("Note")
                        return false
                    } catch let error as PartitaError {
                        return error.code == .revoked
                    }
                }
            }
            try await eventually("the owner has a grant", within: patience) { try await holders(system) == [owner] }
            try await handles[0].write { $0.insert("Note", ["_id": "mine", "owner": .string(owner)]) }
            try await handles[0].waitForUploads()
            #expect(try await handles[0].find("Note").count == 4)

            // And back: who has a grant keeps it, and others get the one for all.
            _ = try await TestApp.deploy("board", Self.files(rule: "true"), on: system)
            let back = try await people[1].session.openPartition(.string(owner))
            try await eventually("another user may open it again", within: patience) {
                do {
                    try await back.waitForFirstSync()
                } catch let error as PartitaError where error.code == .revoked {
                    _ = try await people[1].session.openPartition(.string(owner))
                    return false
                }
                return try await back.find("Note").count == 4
            }
            #expect(try await Set(holders(system)) == ["*", owner])
            for person in people { try await person.app.close() }
            #expect(await !wasRevoked.value)
            try await system.check(app: "board")
        }
    }
}

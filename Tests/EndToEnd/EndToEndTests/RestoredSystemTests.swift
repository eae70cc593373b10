import ChildProcesses
import DocumentModel
import Foundation
import Glibc
import PartitaClient
import TestSupport
import Testing

extension EndToEnd {
    /// A system that goes back to a backup, by the commands in `Deploy/README.md`.
    struct RestoredSystemTests {
        @Test func `after a restore devices match Postgres, and the server gets back what it lost`()
            async throws
        {
            let name = "partita-e2e-restored-\(getpid())"
            let first = try await RunningSystem.start(name)
            let ada = try await TestDevice.register("ada", on: first)
            let talk = try await ada.beginConversation()
            let devices = try await ["exact", "behind", "ahead", "both"].asyncMap {
                try await Device($0, of: ada, first)
            }
            let (exact, behind, ahead, both) = (devices[0], devices[1], devices[2], devices[3])
            var sent: [String] = []
            for device in devices { sent.append(try await device.send("first, by \(device.name)", to: talk)) }
            for device in devices { try await talk.waitUntilSame(device.handle(talk)) }
            // One stays behind, one has exactly the backup, the others see and write more.
            try await behind.close()
            sent.append(try await both.send("before the backup", to: talk))
            try await talk.waitUntilSame(exact.handle(talk))
            try await exact.close()

            let backup = "\(first.directory)/backups/2026-11-22"
            try await SystemBackup.run("partita backup", backup, first)
            try await tamper(first)
            for device in [ahead, both] {
                for number in 1...3 {
                    sent.append(try await device.send("forgotten \(number), by \(device.name)", to: talk))
                }
            }
            for device in [ahead, both] { try await talk.waitUntilSame(device.handle(talk)) }
            try await both.close()

            try await ada.close()
            #expect(await first.up.terminate(grace: .seconds(40)) == .exited(0))
            try await refuseBackupOfAnotherSystem(backup, first)
            try await SystemBackup.run("partita restore", backup, first)
            let second = try await RunningSystem.start(name, basePort: first.basePort)
            let again = TestConversation(id: talk.id, system: second)

            // This write comes first in the new epoch: everything before it has revisions of the former one.
            let fresh = try await Device("fresh", of: ada, second)
            sent.append(try await fresh.send("after the restore", to: again))
            let back = try await [exact, behind, both].asyncMap { try await Device($0.name, of: ada, second) }
            let everybody = back + [ahead, fresh]
            // A device offers again what it has of a partition when it opens that.
            for device in back { _ = try await device.handle(again) }
            do {
                try await eventually("Postgres has all \(sent.count) messages again", within: .seconds(90)) {
                    Set(try await again.rows().keys) == Set(sent.map { "s:" + $0 })
                }
                for device in everybody { try await again.waitUntilSame(device.handle(again)) }
            } catch {
                throw SystemFailure(description: "\(error)\n\(second.logEnds())")
            }
            for device in everybody {
                #expect(try await device.handle(again).pending().isEmpty)
                #expect(try await device.handle(again).rejected().isEmpty)
                try await device.close()
            }
            // What was created after the backup is gone.
            #expect(try await second.query("select to_regclass('partita.made_since') is null").first?.decode(0) == true)
            #expect(await second.up.terminate(grace: .seconds(40)) == .exited(0))

            // The same backup once more. What the devices saw since the first restore is lost; numbers that are assigned again aren't
            // mistaken for it, although there are as many by the time that a device reconnects.
            try await SystemBackup.run("partita restore", backup, first)
            let third = try await RunningSystem.start(name, basePort: first.basePort)
            let anew = TestConversation(id: talk.id, system: third)
            let other = try await Device("other", of: ada, third)
            for number in 0..<sent.count + 5 { _ = try await other.send("once more \(number)", to: anew) }
            for device in [behind, both] {
                let device = try await Device(device.name, of: ada, third)
                try await anew.waitUntilSame(device.handle(anew))
                try await anew.waitUntilSame(other.handle(anew))
                try await device.close()
            }
            try await other.close()
            #expect(await third.up.terminate(grace: .seconds(40)) == .exited(0))
        }

        /// A wrong URL or data directory costs no system.
        private func refuseBackupOfAnotherSystem(_ backup: String, _ system: RunningSystem) async throws {
            let manifest = "\(backup)/manifest.json", own = try String(contentsOfFile: manifest, encoding: .utf8)
            let other = own.replacing(/"origin" : "[^"]+"/, with: #""origin" : "another/1""#)
            #expect(other != own)
            try other.write(toFile: manifest, atomically: true, encoding: .utf8)
            let refused = try await tool(["restore", backup], system)
            #expect(refused.status == .exited(1))
            #expect(refused.output.contains("another system's than the backup's"), "\(refused.output)")
            #expect(refused.output.contains("[rchat]"), "\(refused.output)")
            try own.write(toFile: manifest, atomically: true, encoding: .utf8)
        }

        @Test func `a restore refuses an invalid backup and a running system`() async throws {
            let system = try await RunningSystem.shared()
            let nothing = try await tool(["restore", "/nonexistent"], system)
            #expect(nothing.status == .exited(1))
            #expect(nothing.output.contains("/nonexistent is no backup"), "\(nothing.output)")
            let backup = "\(system.directory)/backups/running"
            let made = try await tool(["backup", backup], system)
            #expect(made.status == .exited(0), "\(made.output)")
            #expect(made.output.contains("THE KEYS ARE NOT IN IT"), "\(made.output)")
            let running = try await tool(["restore", backup], system)
            #expect(running.status == .exited(1))
            #expect(running.output.contains("a system runs in"), "\(running.output)")
            let url = try system.setting("postgres.url")
            let used = try await tool(
                ["restore", backup], system,
                [
                    "PARTITA_POSTGRES_URL": url, "PARTITA_KAFKA_BOOTSTRAP": try system.setting("kafka.bootstrap"),
                    "PARTITA_KAFKA_EMBEDDED": try system.setting("kafka.embedded"),
                ])
            #expect(used.status == .exited(1))
            #expect(used.output.contains("still use the database"), "\(used.output)")
            try await refuseEditedManifests(backup, system)
            try await sayWhatIsMissing(backup, system)
            // A dump that was cut off changes nothing.
            let dump = "\(backup)/database.dump"
            let whole = try Data(contentsOf: URL(fileURLWithPath: dump))
            try whole.dropLast(1).write(to: URL(fileURLWithPath: dump))
            let damaged = try await tool(["restore", backup], system)
            #expect(damaged.output.contains("is damaged"), "\(damaged.output)")
            // Nor one of the same size in which a single bit is another.
            var other = whole
            other[other.startIndex + other.count / 2] ^= 1
            try other.write(to: URL(fileURLWithPath: dump))
            let changed = try await tool(["restore", backup], system)
            #expect(changed.status == .exited(1))
            #expect(changed.output.contains("is damaged: its SHA-256 is "), "\(changed.output)")
        }

        /// A restore drops what the manifest names, and trusts the dump's digest.
        private func refuseEditedManifests(_ backup: String, _ system: RunningSystem) async throws {
            let file = "\(backup)/manifest.json", own = try String(contentsOfFile: file, encoding: .utf8)
            for schema in ["public", "pg_catalog", "/RChat", "somebody else/RChat", "rchat/", "Partita"] {
                let edited = own.replacing(#""schemas" : ["#, with: #""schemas" : ["\#(schema)","#)
                #expect(edited != own)
                try edited.write(toFile: file, atomically: true, encoding: .utf8)
                let refused = try await tool(["restore", backup], system)
                #expect(refused.status == .exited(1))
                #expect(
                    refused.output.contains("names the schema \(schema), which isn't Partita's"), "\(refused.output)")
            }
            let digestless = own.replacing(/"dumpDigest" : "[^"]+",/, with: "")
            #expect(digestless != own)
            try digestless.write(toFile: file, atomically: true, encoding: .utf8)
            let refused = try await tool(["restore", backup], system)
            #expect(refused.status == .exited(1))
            #expect(refused.output.contains("manifest.json has no dumpDigest"), "\(refused.output)")
            try own.write(toFile: file, atomically: true, encoding: .utf8)
        }

        /// In words, and before engines are started.
        private func sayWhatIsMissing(_ backup: String, _ system: RunningSystem) async throws {
            let file = "\(backup)/manifest.json", own = try String(contentsOfFile: file, encoding: .utf8)
            let damages = [
                ("{", "it is no JSON"), (own.replacing(#""epoch""#, with: #""epocha""#), "it has no epoch."),
                (own.replacing(#""areCopied" : true"#, with: #""areCopied" : 7"#), "its media.areCopied has no value"),
            ]
            for (text, problem) in damages {
                try text.write(toFile: file, atomically: true, encoding: .utf8)
                let damaged = try await tool(["restore", backup], system)
                #expect(damaged.output.contains("manifest.json is damaged: \(problem)"), "\(damaged.output)")
            }
            try own.write(toFile: file, atomically: true, encoding: .utf8)
            for name in ["database.dump", "media"] {
                try FileManager.default.moveItem(atPath: "\(backup)/\(name)", toPath: "\(backup)/elsewhere")
                let incomplete = try await tool(["restore", backup], system)
                try FileManager.default.moveItem(atPath: "\(backup)/elsewhere", toPath: "\(backup)/\(name)")
                #expect(incomplete.output.contains("\(backup)/\(name) doesn't exist"), "\(incomplete.output)")
            }
            let nowhere = try await tool(["backup", "\(backup)-2", "--media", "/nonexistent"], system)
            #expect(nowhere.status == .exited(1))
            #expect(nowhere.output.contains("there is no directory /nonexistent, which"), "\(nowhere.output)")
        }

        @Test func `a backup names the apps that have no documents, too`() async throws {
            let system = try await RunningSystem.shared()
            // A database that no service reads.
            let copy = try await RestoreTarget("empty_app", beside: system)
            let restored = try await copy.tool(["restore", RestoreTarget.backup("empty-app", of: system)])
            #expect(restored.status == .exited(0), "\(restored.output)")
            _ = try await copy.query("insert into partita.apps (id, name, version) values ('empty', 'Empty', 1)")
            let backup = "\(system.directory)/backups/empty-app-2"
            let made = try await copy.tool(["backup", backup])
            #expect(made.status == .exited(0), "\(made.output)")
            let manifest = try String(contentsOfFile: "\(backup)/manifest.json", encoding: .utf8)
            #expect(manifest.contains(/"apps" : \[[^\]]*"empty"/), "\(manifest)")
            #expect(manifest.contains(/"apps" : \[[^\]]*"rchat"/), "\(manifest)")
            try await copy.drop()
        }

        @Test func `a backup has every media file that a document refers to, and names those that don't exist`()
            async throws
        {
            let system = try await RunningSystem.shared()
            let app = "media-of-backup"
            let names = (0..<300).map { "\(app)/\($0)/object" }
            _ = try await system.query(
                """
                insert into partita.media_objects (app, digest, object, size, content_type, is_stored)
                select '\(app)', n::text, '\(app)/' || n || '/object', 1, 'image/png', true from generate_series(0, 300) n
                """)
            let media = "\(system.directory)/media"
            func store(_ name: String) throws {
                let file = "\(media)/\(name)"
                try FileManager.default.createDirectory(
                    atPath: (file as NSString).deletingLastPathComponent, withIntermediateDirectories: true)
                try Data([1]).write(to: URL(fileURLWithPath: file))
            }
            for name in names { try store(name) }
            try Data().write(to: URL(fileURLWithPath: "\(media)/\(names[7])"))
            // A service stores other objects in folders of their own meanwhile.
            let writing = Task {
                for number in 0... {
                    try store("\(app)/other \(number)/object")
                    try await Task.sleep(for: .microseconds(200))
                }
            }
            let backup = "\(system.directory)/backups/media"
            let made = try await tool(["backup", backup], system)
            writing.cancel()
            _ = await writing.result
            try FileManager.default.removeItem(atPath: "\(media)/\(app)")
            _ = try await system.query("delete from partita.media_objects where app = '\(app)'")
            // A job of the night fails, and the backup is there.
            #expect(made.status == .exited(1), "\(made.output)")
            #expect(made.output.contains("\(backup) is complete but for 2 media"), "\(made.output)")
            let gone = names.filter { !FileManager.default.fileExists(atPath: "\(backup)/media/\($0)") }
            #expect(gone.isEmpty)
            #expect(made.output.contains("\(app)/300/object doesn't exist"), "\(made.output)")
            #expect(made.output.contains("MEDIA ARE MISSING: 1 of"), "\(made.output)")
            #expect(made.output.contains("\(names[7]) is damaged: it has 0 bytes, not 1"), "\(made.output)")
            #expect(made.output.contains("MEDIA ARE DAMAGED: 1 of"), "\(made.output)")
        }

        // MARK: The documented commands

        private func tool(_ words: [String], _ system: RunningSystem, _ changes: [String: String] = [:]) async throws
            -> CapturedRun
        {
            try await CapturedRun.run(
                CurrentEnvironment.sibling("partita"), words,
                environment: SystemBackup.environment(system).merging(changes) { $1 })
        }

        /// What made the former restore fail: change tables of other days, and a collection and a table that aren't in the backup.
        private func tamper(_ system: RunningSystem) async throws {
            for statement in [
                "select partita.ensure_change_tables(20)", "create table partita.made_since (n int)",
                "select partita.ensure_collection('rchat', 'RChat', 'MadeSince', 'partition')",
            ] { _ = try await system.query(statement) }
        }

        // MARK: Devices

        /// One more device of a person; with the folder of an earlier device it is the same device again.
        private final class Device: Sendable {
            let name: String
            private let app: PartitaApp
            private let session: Session

            init(_ name: String, of person: TestDevice, _ system: RunningSystem) async throws {
                self.name = name
                let folder = "\(system.directory)/devices/\(person.email)-\(name)"
                try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
                var configuration = PartitaConfiguration(
                    appId: "rchat", baseURL: system.publicURL, directory: folder, loop: system.loop)
                configuration.reconnect = (.milliseconds(200), .seconds(1))
                app = try await PartitaApp(configuration)
                if let session = try await app.session() {
                    self.session = session
                } else {
                    session = try await app.logIn(.emailPassword(email: person.email, password: TestDevice.password))
                }
            }

            func handle(_ talk: TestConversation) async throws -> PartitionHandle {
                try await session.openPartition(talk.partition, waitForFirstSync: true)
            }

            /// Sends a message, and waits until the server has it.
            func send(_ text: String, to talk: TestConversation) async throws -> String {
                let id = UUID().uuidString.lowercased()
                let handle = try await self.handle(talk)
                try await handle.write {
                    $0.insert(
                        "ChatMessage",
                        [
                            "_id": .string(id), "partition": talk.partition, "text": .string(text),
                            "author": .string(name), "timestamp": .date(Int64(Date().timeIntervalSince1970 * 1000)),
                        ])
                }
                try await handle.waitForUploads()
                return id
            }

            func close() async throws { try await app.close() }
        }
    }
}

extension Sequence {
    fileprivate func asyncMap<R>(_ body: (Element) async throws -> R) async throws -> [R] {
        var results: [R] = []
        for element in self { results.append(try await body(element)) }
        return results
    }
}

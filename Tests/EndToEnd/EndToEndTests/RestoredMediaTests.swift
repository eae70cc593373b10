import ChildProcesses
import Foundation
import TestSupport
import Testing

extension EndToEnd {
    /// Media beside a database of their own, into which the running system's backup is restored.
    struct RestoredMediaTests {
        @Test func `a restore that fails leaves the store of the media with the database that is there`() async throws {
            let system = try await RunningSystem.shared()
            let backup = try await RestoreTarget.backup("media-mark", of: system)
            try write("of the backup", to: "\(backup)/media/.partita-store")
            try write("bytes", to: "\(backup)/media/shop/1/object")
            let target = try await RestoreTarget("media_mark", beside: system), media = target.media
            try write("of the target", to: "\(media)/.partita-store")
            for statement in [
                """
                create function public.refuse() returns event_trigger language plpgsql as $$
                begin raise exception 'refused'; end $$
                """, "create event trigger refuse on ddl_command_start execute function public.refuse()",
            ] { _ = try await target.query(statement) }
            let failed = try await target.tool(["restore", backup])
            #expect(failed.status == .exited(1))
            #expect(failed.output.contains("psql failed") && failed.output.contains("refused"), "\(failed.output)")
            #expect(try text("\(media)/.partita-store") == "of the target")
            #expect(try text("\(media)/shop/1/object") == "bytes")

            _ = try await target.query("drop event trigger refuse")
            let restored = try await target.tool(["restore", backup])
            #expect(restored.status == .exited(0), "\(restored.output)")
            #expect(try text("\(media)/.partita-store") == "of the backup")
            try await target.drop()
        }

        @Test func `what fails after the database is restored is said to, with what to do`() async throws {
            let system = try await RunningSystem.shared()
            let backup = try await RestoreTarget.backup("half-done", of: system)
            try write("of the backup", to: "\(backup)/media/.partita-store")
            let target = try await RestoreTarget("half_done", beside: system), media = target.media
            // A file can't take the place of a folder.
            try write("in the way", to: "\(media)/.partita-store/file")
            let half = try await target.tool(["restore", backup])
            #expect(half.status == .exited(1))
            let epoch = try await target.query("select max(epoch) from partita.epochs where reason = 'restored'")
            #expect(half.output.contains("the database is restored, epoch \(epoch), but"), "\(half.output)")
            #expect(half.output.contains("copy \(backup)/media/.partita-store to \(media)/"), "\(half.output)")
            try FileManager.default.removeItem(atPath: "\(media)/.partita-store")
            let restored = try await target.tool(["restore", backup])
            #expect(restored.status == .exited(0), "\(restored.output)")
            #expect(try text("\(media)/.partita-store") == "of the backup")
            try await target.drop()
        }

        @Test func `media that a backup has lost are named before anything changes, and damaged ones are replaced`()
            async throws
        {
            let system = try await RunningSystem.shared(), source = "\(system.directory)/media/lost-media"
            _ = try await system.query(
                """
                insert into partita.media_objects (app, digest, object, size, content_type, is_stored)
                select 'lost-media', n::text, 'lost-media/' || n || '/object', 5, 'image/png', true from generate_series(1, 4) n
                """)
            for number in 1...3 { try write("whole", to: "\(source)/\(number)/object") }
            let backup = "\(system.directory)/backups/lost-media"
            let made = try await CapturedRun.run(
                CurrentEnvironment.sibling("partita"), ["backup", backup, "--accept-lost-media"],
                environment: SystemBackup.environment(system))
            try FileManager.default.removeItem(atPath: source)
            _ = try await system.query("delete from partita.media_objects where app = 'lost-media'")
            #expect(made.status == .exited(0), "\(made.output)")
            let inventory = try text("\(backup)/media-objects.txt")
            #expect(inventory.contains("lost-media/1/object\t5\n"), "\(inventory)")
            #expect(inventory.contains("lost-media/4/object\t5\tmissing\n"), "\(inventory)")

            let target = try await RestoreTarget("lost_media", beside: system), media = target.media
            let copies = "\(backup)/media/lost-media"
            try FileManager.default.removeItem(atPath: "\(copies)/1")
            try write("cut", to: "\(copies)/2/object")
            try write("whole", to: "\(media)/lost-media/2/object")
            try write("cut", to: "\(media)/lost-media/3/object")
            let refused = try await target.tool(["restore", backup])
            #expect(refused.status == .exited(1))
            #expect(refused.output.contains("2 media of the backup are missing or damaged"), "\(refused.output)")
            #expect(refused.output.contains("\(copies)/1/object doesn't exist"), "\(refused.output)")
            #expect(try await target.query("select to_regnamespace('partita') is null") == "t")
            #expect(try text("\(media)/lost-media/3/object") == "cut")

            let restored = try await target.tool(["restore", backup, "--accept-lost-media"])
            #expect(restored.status == .exited(0), "\(restored.output)")
            // The whole one that is there stays, the damaged one is replaced.
            #expect(try text("\(media)/lost-media/2/object") == "whole")
            #expect(try text("\(media)/lost-media/3/object") == "whole")
            try write("1 object", to: "\(backup)/media-objects.txt")
            let cut = try await target.tool(["restore", backup])
            #expect(cut.output.contains("media-objects.txt is damaged: it names 1 objects, not "), "\(cut.output)")
            try await target.drop()
        }

        @Test func `media of the right size with other bytes are found, by a backup and by a restore`() async throws {
            let system = try await RunningSystem.shared()
            // As media-offload names it: the SHA-256 of `whole`, and an id.
            let digest = "5d5766cf2d78701614200418ee1450690d9af12c84d52545e4802f001ad53099"
            let object = "other-bytes/\(digest.prefix(2))/\(digest)-656f00000000000000000001"
            let source = "\(system.directory)/media/\(object)"
            _ = try await system.query(
                """
                insert into partita.media_objects (app, digest, object, size, content_type, is_stored)
                values ('other-bytes', '\(digest)', '\(object)', 5, 'image/png', true)
                """)
            try write("whole", to: source)
            let backup = try await RestoreTarget.backup("other-bytes", of: system)
            try write("other", to: source)
            let made = try await CapturedRun.run(
                CurrentEnvironment.sibling("partita"), ["backup", "\(backup)-2"],
                environment: SystemBackup.environment(system))
            try FileManager.default.removeItem(atPath: "\(system.directory)/media/other-bytes")
            _ = try await system.query("delete from partita.media_objects where app = 'other-bytes'")
            #expect(made.status == .exited(1))
            #expect(made.output.contains("\(source) is damaged: it has the SHA-256 "), "\(made.output)")

            let target = try await RestoreTarget("other_bytes", beside: system)
            try write("other", to: "\(backup)/media/\(object)")
            let refused = try await target.tool(["restore", backup])
            #expect(refused.status == .exited(1))
            #expect(refused.output.contains("\(backup)/media/\(object) has the SHA-256 "), "\(refused.output)")
            #expect(try await target.query("select to_regnamespace('partita') is null") == "t")
            #expect(!FileManager.default.fileExists(atPath: "\(target.media)/\(object)"))
            let accepted = try await target.tool(["restore", backup, "--accept-lost-media"])
            #expect(accepted.status == .exited(0), "\(accepted.output)")
            try await target.drop()
        }

        @Test func `a backup of a system with an object store lists its objects, and misses none`() async throws {
            let system = try await RunningSystem.shared()
            _ = try await system.query(
                """
                insert into partita.media_objects (app, digest, object, size, content_type, is_stored)
                values ('object-store', 'd', 'object-store/1/object', 1, 'image/png', true)
                """)
            let backup = "\(system.directory)/backups/object-store"
            let made = try await CapturedRun.run(
                CurrentEnvironment.sibling("partita"), ["backup", backup],
                environment: SystemBackup.environment(system).merging([
                    "PARTITA_S3_ENDPOINT": "https://s3.example.org"
                ]) { $1 })
            _ = try await system.query("delete from partita.media_objects where app = 'object-store'")
            #expect(made.status == .exited(0), "\(made.output)")
            #expect(made.output.contains("MEDIA ARE NOT IN IT"), "\(made.output)")
            #expect(made.output.contains("the bucket at https://s3.example.org"), "\(made.output)")
            #expect(!FileManager.default.fileExists(atPath: "\(backup)/media"))
            #expect(try text("\(backup)/media-objects.txt").contains("object-store/1/object"))
        }

        private func write(_ text: String, to file: String) throws {
            try FileManager.default.createDirectory(
                atPath: (file as NSString).deletingLastPathComponent, withIntermediateDirectories: true)
            try text.write(toFile: file, atomically: false, encoding: .utf8)
        }

        private func text(_ file: String) throws -> String { try String(contentsOfFile: file, encoding: .utf8) }
    }
}

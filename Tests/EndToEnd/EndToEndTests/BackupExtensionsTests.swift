import Foundation
import Testing

extension EndToEnd {
    struct BackupExtensionsTests {
        @Test func `a backup names only the extensions that it needs, and a restore those that the server lacks`()
            async throws
        {
            let system = try await RunningSystem.shared()
            // One that an index of Partita's needs, and one of somebody else.
            for statement in [
                "create extension if not exists pg_trgm schema public",
                "create extension if not exists citext schema public",
                "create table public.elsewhere (name public.citext)",
                "create table partita.searched (name text)",
                "create index on partita.searched using gin (name public.gin_trgm_ops)",
            ] { _ = try await system.query(statement) }
            let backup = try await RestoreTarget.backup("extensions", of: system)
            for statement in ["drop table partita.searched", "drop table public.elsewhere", "drop extension citext"] {
                _ = try await system.query(statement)
            }
            let file = "\(backup)/manifest.json"
            let manifest = try String(contentsOfFile: file, encoding: .utf8)
            #expect(manifest.contains(#""pg_trgm""#), "\(manifest)")
            #expect(!manifest.contains("citext"), "\(manifest)")
            #expect(manifest.contains(/"server" : [0-9]+/) && manifest.contains(/"client" : [0-9]+/), "\(manifest)")

            let target = try await RestoreTarget("extensions", beside: system)
            try manifest.replacing(#""pg_trgm""#, with: #""no_such_extension", "pg_trgm""#).write(
                toFile: file, atomically: true, encoding: .utf8)
            let refused = try await target.tool(["restore", backup])
            #expect(refused.status == .exited(1))
            #expect(refused.output.contains("on this Postgres server: no_such_extension. "), "\(refused.output)")
            #expect(try await target.query("select to_regnamespace('partita') is null") == "t")
            try manifest.write(toFile: file, atomically: true, encoding: .utf8)
            let restored = try await target.tool(["restore", backup])
            #expect(restored.status == .exited(0), "\(restored.output)")
            #expect(try await target.query("select extname from pg_extension where extname <> 'plpgsql'") == "pg_trgm")
            #expect(
                try await target.query("select reason from partita.epochs order by epoch desc limit 1") == "restored")
            try await target.drop()
        }
    }
}

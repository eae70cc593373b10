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
            try manifest.replacing(#""extensions" : ["#, with: #""extensions" : ["no_such_extension","#).write(
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

        @Test func `an extension is restored in its schema, and refused in another one`() async throws {
            let system = try await RunningSystem.shared()
            let plain = try await RestoreTarget.backup("before-schemas", of: system)
            let source = try await RestoreTarget("schemas_from", beside: system)
            let filled = try await source.tool(["restore", plain])
            #expect(filled.status == .exited(0), "\(filled.output)")
            for statement in [
                "drop extension if exists pg_trgm cascade", "create extension pg_trgm schema partita",
                "create table partita.searched (name text)",
                "create index on partita.searched using gin (name partita.gin_trgm_ops)",
            ] { _ = try await source.query(statement) }
            // A restore drops that schema, and the dump creates it.
            let backup = "\(system.directory)/backups/schemas"
            let unusable = try await source.tool(["backup", backup])
            #expect(unusable.status == .exited(1))
            #expect(unusable.output.contains("pg_trgm is in the schema partita"), "\(unusable.output)")

            _ = try await source.query("create schema \"Its tools\"")
            _ = try await source.query("alter extension pg_trgm set schema \"Its tools\"")
            let made = try await source.tool(["backup", backup])
            #expect(made.status == .exited(0), "\(made.output)")
            let manifest = try String(contentsOfFile: "\(backup)/manifest.json", encoding: .utf8)
            #expect(manifest.contains(#""pg_trgm" : "Its tools""#), "\(manifest)")
            try await source.drop()

            let target = try await RestoreTarget("schemas_to", beside: system)
            let restored = try await target.tool(["restore", backup])
            #expect(restored.status == .exited(0), "\(restored.output)")
            let place = "select extnamespace::regnamespace from pg_extension where extname = 'pg_trgm'"
            #expect(try await target.query(place) == #""Its tools""#)
            _ = try await target.query("alter extension pg_trgm set schema public")
            let refused = try await target.tool(["restore", backup])
            #expect(refused.status == .exited(1))
            #expect(
                refused.output.contains("the extension pg_trgm is in the schema public here"), "\(refused.output)")
            let remedy = #"run `alter extension "pg_trgm" set schema "Its tools"`"#
            #expect(refused.output.contains(remedy), "\(refused.output)")
            try await target.drop()
        }
    }
}

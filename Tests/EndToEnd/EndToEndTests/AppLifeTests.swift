import ChildProcesses
import Foundation
import Postgres
import TestSupport
import Testing

extension EndToEnd {
    /// The life of a deployed app: concurrent and killed deployments, history, rollback, export, removal.
    struct AppLifeTests {
        private static func partita(_ system: RunningSystem, _ words: [String]) async throws -> CapturedRun {
            try await CapturedRun.run(CurrentEnvironment.sibling("partita"), words + ["--data", system.directory])
        }

        /// An app whose version can be told from its schema, its index and its function.
        private static func files(_ app: String, version: Int, endpoint: Bool = false) -> [String: String] {
            var files = [
                "realm_config.json": #"{"config_version": 20210101, "app_id": "\#(app)", "name": "\#(app)"}"#,
                "data_sources/mongodb-atlas/config.json": #"{"name": "mongodb-atlas", "type": "mongodb-atlas"}"#,
                "data_sources/mongodb-atlas/d/c/schema.json": """
                {"title": "c", "bsonType": "object", "properties": {"v\(version)": {"bsonType": "string"}}}
                """,
                "functions/config.json": #"[{"name": "f", "private": false, "run_as_system": true}]"#,
                "functions/f.js": "exports = () => \(version);\r\n",
                "partita.json": """
                {"indexes": [{"database": "d", "collection": "c", "key": {"k": 1}, "sparse": \(version % 2 == 0)},
                             {"database": "d", "collection": "c", "key": {"v\(version)": 1}}]}
                """,
            ]
            if endpoint {
                files["https_endpoints/config.json"] =
                    #"[{"route": "/f", "http_method": "GET", "function_name": "f", "validation_method": "NO_VALIDATION", "respond_result": true}]"#
            }
            return files
        }

        private static func write(_ files: [String: String], to folder: String) throws {
            for (file, text) in files {
                let url = URL(fileURLWithPath: "\(folder)/\(file)")
                try FileManager.default.createDirectory(
                    at: url.deletingLastPathComponent(), withIntermediateDirectories: true)
                try Data(text.utf8).write(to: url)
            }
        }

        /// What Postgres has of an app's version: the number in the function, the schema and the indexes.
        private static func state(_ app: String, on system: RunningSystem) async throws -> [String] {
            let function = try await system.query(
                """
                select substring(v.definition -> 'files' ->> 'functions/f.js' from '=> (\\d+)') from partita.app_versions v
                join partita.apps a on a.id = v.app and a.version = v.version where v.app = '\(app)'
                """
            ).decode(String.self)
            let schema = try await system.query(
                "select substring(schema::text from '\"v(\\d+)\"') from partita.schemas where app = '\(app)'"
            ).decode(String.self)
            let indexes = try await system.query(
                """
                select name || case when specification ->> 'sparse' = 'true' then ' sparse' else '' end from partita.indexes
                where app = '\(app)' and is_ready order by 1
                """
            ).decode(String.self)
            return [function.joined(), schema.joined()] + indexes
        }

        /// What the app's endpoint answers.
        private static func call(_ app: String, on system: RunningSystem) async throws -> String {
            try await HTTPCaller(root: system.publicURL, system: system).get("/app/\(app)/endpoint/f").text
        }

        private static func expected(_ version: Int) -> [String] {
            ["\(version)", "\(version)"]
                + ["k_1" + (version % 2 == 0 ? " sparse" : ""), "v\(version)_1"].sorted()
        }

        @Test func `deployments of one app at the same time follow each other`() async throws {
            let system = try await RunningSystem.shared()
            let folders = (1...4).map { "\(system.directory)/together-\($0)" }
            for (index, folder) in folders.enumerated() {
                try Self.write(Self.files("together", version: index + 1), to: folder)
            }
            let runs = try await withThrowingTaskGroup(of: CapturedRun.self) { group in
                for folder in folders {
                    group.addTask { try await Self.partita(system, ["app", "deploy", folder]) }
                }
                return try await group.reduce(into: []) { $0.append($1) }
            }
            for run in runs { #expect(run.status.isSuccess, "\(run.output)") }
            #expect(runs.contains { $0.output.contains("together is being deployed: there is a deployment by ") })
            let history = try await Self.partita(system, ["app", "history", "together", "--json"])
            #expect(history.output.split(separator: "\n").count == 4, "\(history.output)")
            let state = try await Self.state("together", on: system)
            #expect((1...4).contains { Self.expected($0) == state }, "\(state)")
        }

        @Test func `a deployment that is killed anywhere leaves the old version or the new one`() async throws {
            let system = try await RunningSystem.shared()
            let tool = CurrentEnvironment.sibling("partita")
            var version = 1
            func folder(_ version: Int) throws -> String {
                let folder = "\(system.directory)/killed-\(version)"
                try Self.write(Self.files("killed", version: version), to: folder)
                return folder
            }
            var run = try await Self.partita(system, ["app", "deploy", try folder(version)])
            #expect(run.status.isSuccess, "\(run.output)")
            // In parts, since other tests may take the processors: a statement has half a minute.
            for part in 0..<10 {
                _ = try await system.query(
                    """
                    insert into "killed/d".c (document)
                    select jsonb_build_object('k', n) from generate_series(\(part * 2000 + 1), \(part * 2000 + 2000)) n
                    """)
            }
            let start = ContinuousClock.now
            run = try await Self.partita(system, ["app", "deploy", try folder(2)])
            #expect(run.status.isSuccess, "\(run.output)")
            version = 2
            // The places are spread over the time that a deployment takes.
            let whole = ContinuousClock.now - start
            var olds = 0
            for step in 1...14 {
                let next = version + 1
                let process = try ChildProcess.spawn(
                    tool, ["app", "deploy", try folder(next), "--data", system.directory],
                    output: .file("\(system.directory)/killed.log"))
                try await Task.sleep(for: whole * step / 14)  // the place is a time
                process.signal(SIGKILL)
                _ = await process.wait()
                let state = try await Self.state("killed", on: system)
                #expect(
                    state == Self.expected(version) || state == Self.expected(next),
                    "killed after \(whole * step / 14): \(state)")
                if state == Self.expected(next) { version = next } else { olds += 1 }
            }
            #expect(olds > 0 && version > 2, "killed too late or too early: \(olds) old, version \(version)")
            // The next one isn't disturbed by what the killed ones have left, and leaves nothing of it.
            run = try await Self.partita(system, ["app", "deploy", try folder(100)])
            #expect(run.status.isSuccess, "\(run.output)")
            #expect(try await Self.state("killed", on: system) == Self.expected(100))
            let loose = try await system.query("select name from partita.indexes where app = 'killed' and not is_ready")
            #expect(loose.isEmpty)
            let relations = try await system.query(
                "select count(*) from pg_indexes where schemaname = 'killed/d' and indexname like 'c$%'"
            ).decode(Int.self)
            #expect(relations == [4], "two indexes, each with its companion for arrays")
        }

        @Test func `after a deployment has returned, every call runs the new version`() async throws {
            let system = try await RunningSystem.shared()
            for version in 1...5 {
                let folder = "\(system.directory)/prompt-\(version)"
                try Self.write(Self.files("prompt", version: version, endpoint: true), to: folder)
                let run = try await Self.partita(system, ["app", "deploy", folder])
                #expect(run.status.isSuccess && run.output.contains("services have it"), "\(run.output)")
                let answer = try await Self.call("prompt", on: system)
                #expect(answer == "\(version)")
            }
        }

        @Test func `versions are kept with who and why, and can be exported and deployed again`() async throws {
            let system = try await RunningSystem.shared()
            let folders = (1...2).map { "\(system.directory)/kept-\($0)" }
            for (index, folder) in folders.enumerated() {
                var files = Self.files("kept", version: index + 1)
                files["functions/README.md"] = "Read me \(index)\n"
                files["hosting/files/index.html"] = "<p>\n"
                files["functions/node_modules/a/index.js"] = "module.exports = \(index)"
                files["functions/node_modules/a/LICENSE"] = "none"
                try Self.write(files, to: folder)
                try Data([0xFF, 0x00, 0x1A]).write(to: URL(fileURLWithPath: folder + "/hosting/files/x.png"))
                let run = try await Self.partita(system, ["app", "deploy", folder, "--message", "number \(index + 1)"])
                #expect(run.status.isSuccess, "\(run.output)")
            }
            let history = try await Self.partita(system, ["app", "history", "kept"])
            #expect(history.output.contains("2    current"), "\(history.output)")
            #expect(history.output.contains("number 1") && history.output.contains("@"), "\(history.output)")

            let back = try await Self.partita(system, ["app", "rollback", "kept", "--message", "oops"])
            #expect(back.output.contains("kept version 3 is deployed"), "\(back.output)")
            #expect(try await Self.state("kept", on: system) == Self.expected(1))
            let after = try await Self.partita(system, ["app", "history", "kept"])
            #expect(after.output.contains("as version 1  oops"), "\(after.output)")

            for (version, folder) in [("3", folders[0]), ("2", folders[1])] {
                for ending in ["", ".zip", ".tar", ".tgz"] {
                    let place = "\(system.directory)/kept-out-\(version)\(ending)"
                    let run = try await Self.partita(
                        system, ["app", "export", "kept", place, "--version", version])
                    #expect(run.status.isSuccess, "\(run.output)")
                    let unpacked = ending.isEmpty ? place : place + "-unpacked"
                    if !ending.isEmpty {
                        try FileManager.default.createDirectory(
                            atPath: unpacked, withIntermediateDirectories: true)
                        let unpack = try await CapturedRun.run(
                            "/usr/bin/python3", ["-m", ending == ".zip" ? "zipfile" : "tarfile", "-e", place, unpacked])
                        #expect(unpack.status.isSuccess, "\(unpack.output)")
                    }
                    let difference = try await CapturedRun.run("/usr/bin/diff", ["-r", folder, unpacked])
                    #expect(difference.status.isSuccess, "\(difference.output)")
                }
            }
            let taken = try await Self.partita(system, ["app", "export", "kept", folders[0]])
            #expect(taken.status == .exited(1) && taken.output.contains("place-taken"), "\(taken.output)")
            let foreign = try await Self.partita(system, ["app", "export", "kept", "\(system.directory)/a.tar.BZ2"])
            #expect(!foreign.status.isSuccess && foreign.output.contains("archives end in"), "\(foreign.output)")
            let unknown = try await Self.partita(system, ["app", "rollback", "kept", "--to", "77"])
            #expect(unknown.output.contains("version-unknown") && unknown.output.contains("there are: 3, 2, 1"))
        }

        @Test func `a pause of a trigger is seen, and outlasts a deployment`() async throws {
            let system = try await RunningSystem.shared()
            let folder = "\(system.directory)/paused"
            var files = Self.files("paused", version: 1)
            files["triggers/t.json"] = """
                {"name": "t", "type": "DATABASE", "function_name": "f", "config": {"service_name": "mongodb-atlas",
                 "database": "d", "collection": "c", "operation_types": ["INSERT"]}}
                """
            files["triggers/s.json"] =
                #"{"name": "s", "type": "SCHEDULED", "function_name": "f", "config": {"schedule": "0 3 1 1 *"}}"#
            try Self.write(files, to: folder)
            _ = try await Self.partita(system, ["app", "deploy", folder])
            func state() async throws -> String {
                try await Self.partita(system, ["triggers", "--app", "paused"]).output
            }
            let unknown = try await Self.partita(system, ["triggers", "pause", "u", "--app", "paused"])
            #expect(unknown.output.contains("trigger-unknown: paused has no trigger u; there are: s, t"))
            let paused = try await Self.partita(system, ["triggers", "pause", "t", "--app", "paused"])
            #expect(paused.status.isSuccess, "\(paused.output)")
            let again = try await Self.partita(system, ["triggers", "pause", "t", "--app", "paused"])
            #expect(again.output.contains("trigger-state"), "\(again.output)")
            files["functions/f.js"] = "exports = () => 2;"
            try Self.write(files, to: folder)
            _ = try await Self.partita(system, ["app", "deploy", folder])
            let shown = try await state()
            #expect(shown.contains("t  paused by ") && shown.contains("  0 missed events"), "\(shown)")
            #expect(shown.contains(/s  enabled  runs f  0 dead letters  next run 2\d\d\d-01-01T03:00:00/), "\(shown)")
            _ = try await Self.partita(system, ["triggers", "resume", "t", "--app", "paused"])
            try await eventually("the trigger is enabled", within: patience) {
                try await state().contains("t  enabled")
            }
        }

        @Test func `the tool compares apps and explains access`() async throws {
            let system = try await RunningSystem.shared()
            let same = try await Self.partita(system, ["app", "diff", TestApp.rchat])
            #expect(same.output.contains("nothing differs from version"), "\(same.output)")
            let other = try TestApp.broken("functions/chatMessageChange.js", in: system) { $0 + "\n// changed\n" }
            let changed = try await Self.partita(system, ["app", "diff", other])
            #expect(changed.output.contains("changed  file functions/chatMessageChange.js"), "\(changed.output)")
            #expect(changed.output.contains("changed  function chatMessageChange"), "\(changed.output)")
            let stranger = try await Self.partita(
                system, ["app", "explain", "--app", "rchat", "--user", "nobody", "--partition", "user=nobody"])
            #expect(stranger.output.contains("the rules say now: "), "\(stranger.output)")
            #expect(stranger.output.contains("no grant: "), "\(stranger.output)")
            #expect(stranger.output.contains("the app has no such user"), "\(stranger.output)")

            let person = try await TestDevice.register("explained", on: system)
            let user = person.session.userId
            let open = ["app", "explain", "--app", "rchat", "--user", user, "--partition", "user=\(user)"]
            #expect(try await !Self.partita(system, open).output.contains("no such user"))
            func explained(_ address: String) async throws -> CapturedRun {
                try await Self.partita(
                    system, ["app", "explain", "--app", "rchat", "--user", address, "--partition", "user=\(user)"])
            }
            let byAddress = try await explained(person.email)
            #expect(byAddress.output.contains("the rules say now: write"), "\(byAddress.output)")
            #expect(try await explained("nobody@example.com").status != .exited(0))
            _ = try await Self.partita(system, ["users", "disable", user, "--app", "rchat"])
            try await eventually("permissions has decided, and nothing differs", within: patience) {
                let shutOut = try await Self.partita(system, open).output
                return shutOut.contains("the account is deleted or disabled") && !shutOut.contains("it differs")
            }
        }

        @Test func `an app is removed only on purpose, and with its documents only when that is said`() async throws {
            let system = try await RunningSystem.shared()
            let folder = "\(system.directory)/removed"
            try Self.write(Self.files("removed", version: 1, endpoint: true), to: folder)
            _ = try await Self.partita(system, ["app", "deploy", folder])
            _ = try await system.query(
                #"insert into "removed/d".c (document) select jsonb_build_object('k', n) from generate_series(1, 1200) n"#
            )
            let asked = try await Self.partita(system, ["app", "remove", "removed"])
            #expect(asked.status == .exited(1) && asked.output.contains("--yes is missing"), "\(asked.output)")
            #expect(try await Self.call("removed", on: system) == "1")

            let removed = try await Self.partita(system, ["app", "remove", "removed", "--yes"])
            #expect(removed.output.contains("its 1200 documents"), "\(removed.output)")
            #expect(try await Self.call("removed", on: system) != "1")
            let again = try await Self.partita(system, ["app", "remove", "removed", "--yes"])
            #expect(again.output.contains("was removed before"), "\(again.output)")

            _ = try await Self.partita(system, ["app", "deploy", folder])
            #expect(try await system.query(#"select from "removed/d".c"#).count == 1200)
            let all = try await Self.partita(system, ["app", "remove", "removed", "--yes", "--documents"])
            #expect(all.output.contains("1200 documents are deleted"), "\(all.output)")
            #expect(try await system.query(#"select from "removed/d".c"#).isEmpty)
        }
    }
}

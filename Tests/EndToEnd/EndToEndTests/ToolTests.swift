import ChildProcesses
import DocumentModel
import Foundation
import Testing

@Suite struct ToolTests {
    private func run(_ arguments: [String], _ more: [String: String] = [:]) async throws -> CapturedRun {
        let own = CurrentEnvironment.variables.filter { !$0.key.hasPrefix("PARTITA_") }
        return try await CapturedRun.run(
            CurrentEnvironment.sibling("partita"), arguments, environment: own.merging(more) { $1 })
    }

    @Test func `an unavailable engine ends a command within seconds, and the message names it`() async throws {
        let start = ContinuousClock.now
        let run = try await run(
            ["app", "list"], ["PARTITA_POSTGRES_URL": "postgres://nobody:secret@127.0.0.1:1/nothing"])
        #expect(run.status == .exited(1))
        #expect(run.output.contains("Postgres can't be reached at 127.0.0.1:1"), "\(run.output)")
        #expect(!run.output.contains("secret"))
        #expect(ContinuousClock.now - start < .seconds(20))
    }

    @Test func `a word that several commands begin with suggests them`() async throws {
        let run = try await run(["app"])
        #expect(run.status == .exited(64))
        #expect(run.output.contains("app check, app deploy, app list"), "\(run.output)")
        #expect(try await self.run(["help", "device"]).output.contains("--user EMAIL"))
        #expect(try await self.run(["device"]).output.contains("usage: partita device"))
        #expect(
            try await self.run(["up", "--app", "a", "--app", "b"]).output.contains("--app is given more than once"))
    }

    @Test func `mistakes of newcomers are answered with what to write instead`() async throws {
        let option = try await run(["app", "remove", "--app", "rchat"])
        #expect(
            option.status == .exited(64) && option.output.contains("APP is given without --app"), "\(option.output)")
        let elsewhere = try await CapturedRun.run(
            "sh", ["-c", "cd / && exec '\(CurrentEnvironment.sibling("partita"))' up --data /nowhere"])
        #expect(elsewhere.status == .exited(1), "\(elsewhere.output)")
        #expect(elsewhere.output.contains("name the folder of your app with --app"), "\(elsewhere.output)")
    }

    @Test func `commands that list something also print JSON, and an unknown app is an error`() async throws {
        let system = try await RunningSystem.shared()
        let data = ["--data", system.directory]
        let list = try await run(["app", "list", "--json"] + data)
        let apps = try list.output.split(separator: "\n").map { try ExtendedJSON.parseDocument(String($0)) }
        #expect(apps.contains { $0["app"] == "rchat" && $0["triggers"] == 4 }, "\(list.output)")
        let triggers = try await run(["triggers", "--app", "rchat", "--json"] + data)
        #expect(triggers.output.split(separator: "\n").count == 4, "\(triggers.output)")
        for command in [["users", "list"], ["logs"], ["triggers"], ["partition", "show", "x"], ["secret", "list"]] {
            let refused = try await run(command + ["--app", "nope"] + data)
            #expect(refused.status == .exited(1), "\(command)")
            #expect(refused.output.contains("no app nope is deployed; there are: "), "\(refused.output)")
        }
    }

    @Test func `only its owner may read the files of a system that have keys`() async throws {
        let system = try await RunningSystem.shared()
        for name in ["partita.conf", "encryption.key"] {
            let file = "\(system.directory)/\(name)"
            let mode = try FileManager.default.attributesOfItem(atPath: file)[.posixPermissions] as? Int
            #expect(mode == 0o600, "\(name)")
            #expect(!FileManager.default.fileExists(atPath: file + ".new"), "\(name)")
        }
    }

    @Test func `a word that several commands begin with has a page`() async throws {
        let page = try await CapturedRun.run(CurrentEnvironment.sibling("partita"), ["app", "--help"])
        #expect(page.status.isSuccess && page.output.contains("app deploy") && !page.output.contains("index list"))
        let alone = try await CapturedRun.run(CurrentEnvironment.sibling("partita"), ["app"])
        #expect(alone.status == .exited(64) && alone.output.contains("there are: app "), "\(alone.output)")
    }

    @Test func `with several apps a command must name one`() async throws {
        let system = try await RunningSystem.shared()
        let data = ["--data", system.directory]
        _ = try await TestApp.deploy(
            "second", ["realm_config.json": #"{"config_version": 20210101, "app_id": "second", "name": "Second"}"#],
            on: system)
        for command in [
            ["users", "list"], ["secret", "list"], ["documents", "count", "RChat.User"], ["index", "list", "User"],
        ] {
            let refused = try await run(command + data)
            #expect(refused.status == .exited(1), "\(command)")
            #expect(refused.output.contains("--app is missing; there are: "), "\(refused.output)")
        }
    }

    @Test func `a secret isn't encrypted with a key that the services don't have`() async throws {
        let system = try await RunningSystem.shared()
        let foreign = ["PARTITA_ENCRYPTION_KEYS": String(repeating: "f", count: 64)]
        let set = try await CapturedRun.run(
            "/bin/sh",
            [
                "-c",
                "echo x | '\(CurrentEnvironment.sibling("partita"))' secret set foreign --app rchat --data '\(system.directory)'",
            ],
            environment: CurrentEnvironment.variables.filter { !$0.key.hasPrefix("PARTITA_") }.merging(foreign) { $1 })
        #expect(set.status == .exited(1), "\(set.output)")
        #expect(set.output.contains("PARTITA_ENCRYPTION_KEYS"), "\(set.output)")
        let list = try await run(["secret", "list", "--app", "rchat", "--data", system.directory])
        #expect(!list.output.contains("foreign"), "\(list.output)")
    }

    @Test func `the store's refusals are reported in MongoDB's words by every command`() async throws {
        let system = try await RunningSystem.shared()
        let name = "Tool\(UUID().uuidString.prefix(8))"
        func refused(_ words: [String]) async throws -> String {
            let run = try await run(words + ["--app", "rchat", "--data", system.directory])
            #expect(run.status == .exited(1), "\(words)")
            return run.output
        }
        _ = try await run(
            [
                "documents", "insert", "RChat.\(name)", #"[{"_id": 1, "a": 1}, {"_id": 2, "a": 1}]"#, "--app", "rchat",
                "--data", system.directory,
            ])
        let hashed = try await refused(["index", "create", name, #"{"key": {"a": "hashed"}}"#])
        #expect(hashed.hasPrefix("partita: MongoDBError (115): "), "\(hashed)")
        let unique = try await refused(["index", "create", name, #"{"key": {"a": 1}, "unique": true}"#])
        let duplicate = "partita: MongoDBError (11000): E11000 duplicate key error collection: RChat.\(name) index: "
        #expect(unique == duplicate + "a_1 dup key: { a: 1 }\n")
        let again = try await refused(["documents", "insert", "RChat.\(name)", #"{"_id": 1}"#])
        #expect(again == duplicate + "_id_ dup key: { _id: 1 }\n")
        let misspelled = try await refused(["documents", "call", "RChat.\(name)", "find", #"{"filtr": {}}"#])
        #expect(misspelled == "partita: MongoDBError (40415): BSON field 'find.filtr' is an unknown field.\n")
    }

    @Test func `a manually run device prints the server's answers`() async throws {
        let system = try await RunningSystem.shared()
        let script = """
            printf 'open conversation=of others\\nopen all-users=all-the-users\\nfind Chatster\\noffline\\nopen s:l:1\\n' \
                | "$0" device --app rchat --user "tool-$1@example.com" --data "$2"
            """
        let run = try await CapturedRun.run(
            "/bin/sh",
            ["-c", script, CurrentEnvironment.sibling("partita"), UUID().uuidString, system.directory])
        let lines = run.output.split(separator: "\n").map(String.init)
        #expect(lines.contains { $0.hasPrefix("refused conversation=of others: ") }, "\(run.output)")
        #expect(lines.contains("opened all-users=all-the-users"), "\(run.output)")
        #expect(!run.output.contains("not loaded yet"), "\(run.output)")
        #expect(lines.contains("opened s:l:1 on this device: the server hasn't answered"), "\(run.output)")
    }

    @Test func `a dead letter that can't be retried stays stored`() async throws {
        let system = try await RunningSystem.shared()
        _ = try await system.query(
            """
            insert into partita.trigger_failures (app, trigger, event_id, event, code, message, attempts)
            values ('rchat', 'userRegistered', 'tool-test', '{"operationType":"CREATE"}', 'E', 'm', 3)
            """)
        let listed = try await run(["triggers", "--app", "rchat", "--failures", "--json", "--data", system.directory])
        let letters = try listed.output.split(separator: "\n").map { try ExtendedJSON.parseDocument(String($0)) }
        let number = try #require(letters.first { $0["event"] == "tool-test" }?["number"]?.int64Value)
        for _ in 0..<2 {
            let refused = try await run([
                "triggers", "--app", "rchat", "--replay", "\(number)", "--data", system.directory,
            ])
            #expect(refused.status == .exited(1))
            #expect(refused.output.contains("only those can be replayed"), "\(refused.output)")
        }
    }
}

import AppDefinition
import AppDeployment
import AppRegistry
import DocumentModel
import DocumentStore
import EventLoop
import Foundation
import Logging
import Postgres
import ServiceEngines
import SyncEngine
import TestSupport
import Testing

/// What deployments do to stored documents, and what is kept of them.
struct DeploymentTests {
    private struct World: Sendable {
        let client: PostgresClient
        let registry: AppRegistry
        let deployments: AppDeployments

        func store(_ files: AppFiles) throws -> DocumentStore {
            let store = DocumentStore(client: client)
            store.define(AppStorage(try AppDefinition(files: files)))
            return store
        }
    }

    private static func with(_ body: @Sendable (World) async throws -> Void) async throws {
        let loops = LoopGroup(1)
        var configuration = PostgresConfiguration(url: try await TestEngines.shared().makeDatabase())
        configuration.connections = 6
        try await PostgresClient.withClient(configuration, on: loops) { client in
            let registry = AppRegistry(client: client)
            try await body(
                World(
                    client: client, registry: registry,
                    deployments: AppDeployments(
                        client: client, registry: registry, loop: loops.next(), operator: "ada@test",
                        publish: { _ in })))
        }
    }

    private static func files(
        key: String = "team", hasNull: Bool = false, type: String = "string", required: String = "",
        more: [String: String] = [:]
    ) -> AppFiles {
        var files: AppFiles = [
            "realm_config.json": #"{"config_version": 20210101, "app_id": "life", "name": "life"}"#,
            "data_sources/mongodb-atlas/config.json": #"{"name": "mongodb-atlas", "type": "mongodb-atlas"}"#,
            "sync/config.json": """
            {"state": "enabled", "service_name": "mongodb-atlas", "database_name": "d",
             "partition": {"key": "\(key)", "type": "string", \(hasNull ? #""required": false, "# : "")
               "permissions": {"read": true, "write": true}}}
            """,
            "data_sources/mongodb-atlas/d/c/schema.json": """
            {"title": "c", "bsonType": "object", "required": [\(required)], "properties": {
              "team": {"bsonType": "string"}, "place": {"bsonType": "string"}, "n": {"bsonType": "\(type)"}}}
            """,
        ]
        for (path, text) in more { files.texts[path] = text }
        return files
    }

    @Test func `a changed partition key is refused with counts, and moves the documents when that is said`()
        async throws
    {
        try await Self.with { world in
            _ = try await world.deployments.deploy(Self.files())
            let c = try world.store(Self.files()).collection("c", database: "d", app: "life")
            for number in 0..<1100 {
                try await c.insertOne([
                    "_id": .int32(Int32(number)), "team": "t", "place": number < 1000 ? "p" : .null, "n": "1",
                ])
            }
            let other = Self.files(key: "place")
            let error = try await #require(throws: DeploymentError.self) {
                _ = try await world.deployments.deploy(other)
            }
            #expect(error.code == .partitionsChange)
            #expect(error.message.contains("1100 documents of d.c: by place instead of team"), "\(error)")
            var dry = AppDeployments.Options()
            dry.isDryRun = true
            let tried = try await world.deployments.deploy(other, dry)
            #expect(tried.impact.repartitions.map(\.count) == [1100])
            #expect(tried.refusal?.code == .partitionsChange)
            #expect(try await world.registry.history(of: "life").map(\.number) == [1])

            var options = AppDeployments.Options()
            options.mayRepartition = true
            let deployed = try await world.deployments.deploy(other, options)
            #expect(deployed.warnings.contains("1100 documents of d.c are in other partitions now"))
            let places = try await world.client.query(
                """
                select case when partition >= 'i:' and partition < 'i;' then 'i' else partition end, count(*) from "life/d".c
                group by 1 order by 1
                """
            ).decode((String, Int).self)
            #expect(places.map { "\($0.0) \($0.1)" } == ["i 100", "s:p 1000"])
            // External writers follow the new key, too.
            try await world.client.execute(
                #"insert into "life/d".c (document) values ('{"_id": "x", "team": "t", "place": "q"}')"#)
            let outside = try await world.client.query(#"select partition from "life/d".c where _id = 's:x'"#)
            #expect(try outside.first?.decode(0) == "s:q")
            let key = try await world.client.query(
                "select partition_key, (select is_placing from partita.apps) from partita.collections")
            #expect(try key.decode((String, Bool).self).map { "\($0.0) \($0.1)" } == ["place false"])
        }
    }

    @Test func `documents enter the null partition with the key's option, and leave it only with --repartition`()
        async throws
    {
        try await Self.with { world in
            _ = try await world.deployments.deploy(Self.files())
            let c = try world.store(Self.files()).collection("c", database: "d", app: "life")
            try await c.insertMany([
                ["_id": 1, "team": "t"], ["_id": 2], ["_id": 3, "team": .null],
            ])
            func places() async throws -> String {
                try await world.client.query(
                    #"select _id || ' ' || left(partition, 3) from "life/d".c order by _id"#
                ).decode(String.self).joined(separator: ", ")
            }
            #expect(try await places() == "l:1 s:t, l:2 i:d, l:3 i:d")
            let opened = try await world.deployments.deploy(Self.files(hasNull: true))
            #expect(opened.warnings.contains("2 documents of d.c are in other partitions now"), "\(opened.warnings)")
            #expect(try await places() == "l:1 s:t, l:2 n:, l:3 n:")

            // Under another key, those without it are in the null partition, too: none leaves all devices.
            var dry = AppDeployments.Options()
            dry.isDryRun = true
            let byPlace = try await world.deployments.deploy(Self.files(key: "place", hasNull: true), dry)
            #expect(byPlace.impact.repartitions.map(\.count) == [3])
            #expect(byPlace.impact.repartitions.map(\.unplaced) == [0])

            let error = try await #require(throws: DeploymentError.self) {
                _ = try await world.deployments.deploy(Self.files())
            }
            #expect(error.code == .partitionsChange)
            let line = "2 documents of d.c: no null partition any more; 2 of them have no team and leave all devices"
            #expect(error.message.contains(line), "\(error.message)")
            var options = AppDeployments.Options()
            options.mayRepartition = true
            _ = try await world.deployments.deploy(Self.files(), options)
            #expect(try await places() == "l:1 s:t, l:2 i:d, l:3 i:d")
        }
    }

    @Test func `what a deployment that ended in between has left is finished by others`() async throws {
        try await Self.with { world in
            _ = try await world.deployments.deploy(Self.files())
            let c = try world.store(Self.files()).collection("c", database: "d", app: "life")
            try await c.insertMany((0..<700).map { ["_id": .int32($0), "team": "t", "place": "p"] })
            // As if the process had ended right after its transaction, and while it had built an index.
            let next = try AppDefinition(files: Self.files(key: "place"))
            try await world.registry.deploy(next, as: DeploymentRecord(movesDocuments: true))
            let store = try world.store(Self.files(key: "place"))
            try await store.stageIndexes(
                [.init(.init(database: "d", collection: "c"), IndexModel([.init("n")]))], without: [], of: "life",
                failed: { $1 })
            #expect(try await store.appsWithLooseIndexes() == ["life"])
            #expect(try await world.deployments.finishAll() == ["life"])
            #expect(try await world.deployments.finishAll() == [])
            #expect(try await store.appsWithLooseIndexes() == [])
            let places = try await world.client.query(#"select distinct partition from "life/d".c"#)
            #expect(try places.decode(String.self) == ["s:p"])
        }
    }

    @Test func `a schema that stored documents violate is refused with a count and an example`() async throws {
        try await Self.with { world in
            _ = try await world.deployments.deploy(Self.files())
            let c = try world.store(Self.files()).collection("c", database: "d", app: "life")
            try await c.insertMany((0..<30).map { ["_id": .int32($0), "team": "t", "n": "text"] })
            try await world.client.execute(
                """
                insert into partita.uploads (app, user_id, device, partition, last_version, recent, schema_version)
                values ('life', 'ada', 'phone', 's:t', 1, '', 4), ('life', 'ben', 'phone', 's:t', 1, '', 3),
                    ('life', 'cem', 'phone', 's:t', 1, '', 3), ('life', 'dea', 'phone', 's:t', 1, '', null),
                    ('life', 'eva', 'phone', 's:t', 1, '', 0), ('life', 'ben', 'tab', 's:z', 1, '', 5)
                """)
            for files in [Self.files(type: "int"), Self.files(required: #""place""#)] {
                let error = try await #require(throws: DeploymentError.self) {
                    _ = try await world.deployments.deploy(files)
                }
                #expect(error.code == .schemaBreaks && error.message.contains("30 of 30 documents of d.c"), "\(error)")
                #expect(error.message.contains("0: "), "\(error)")
            }
            var dry = AppDeployments.Options()
            dry.isDryRun = true
            let tried = try await world.deployments.deploy(Self.files(required: #""place""#), dry)
            #expect(
                tried.impact.schemas.first?.devices == [
                    .init(schemaVersion: nil, count: 1), .init(schemaVersion: 0, count: 1),
                    .init(schemaVersion: 3, count: 2), .init(schemaVersion: 4, count: 1),
                ])
            #expect(tried.refusal?.code == .schemaBreaks)
            let line = try #require(tried.impact.lines.first { $0.contains("newly requires place: 5 devices") })
            #expect(
                line.contains(
                    "(1 of unknown schema version, 1 without a schema version, 2 with schema version 3, 1 with schema version 4)"
                ),
                "\(line)")
            #expect(try await world.registry.history(of: "life").map(\.number) == [1])
            var options = AppDeployments.Options()
            options.mayBreakSchema = true
            #expect(try await world.deployments.deploy(Self.files(type: "int"), options).isNew)
            // What is refused already, and would be for one more reason.
            let more = try await #require(throws: DeploymentError.self) {
                _ = try await world.deployments.deploy(Self.files(type: "int", required: #""place""#))
            }
            #expect(more.code == .schemaBreaks && more.message.contains("30 of 30 documents of d.c"), "\(more)")
            let same = try await world.deployments.deploy(Self.files(type: "long"), dry)
            #expect(
                same.refusal == nil
                    && same.impact.lines.first?.hasPrefix("30 of 30 documents of d.c violate its present") == true,
                "\(same.impact.lines)")
            // Documents that were invalid before are no reason.
            #expect(
                try await world.deployments.deploy(
                    Self.files(type: "int", more: ["values/a.json": #"{"name": "a", "value": 1}"#])
                ).isNew)
        }
    }

    @Test func `a deployment waits for another one, and says whose it is`() async throws {
        try await Self.with { world in
            _ = try await world.deployments.deploy(Self.files())
            var options = AppDeployments.Options()
            options.lockLimit = .seconds(2)
            let waits = Locked<[String]>([])
            options.waiting = { text in waits.withLock { $0.append(text) } }
            try await world.client.withConnection { connection in
                try await connection.execute(
                    "select pg_advisory_lock(hashtextextended('partita.deployment life', 0)), set_config('application_name', 'deployment by ben@laptop', false)"
                )
                let chosen = options
                let error = try await #require(throws: DeploymentError.self) {
                    _ = try await world.deployments.deploy(Self.files(key: "other"), chosen)
                }
                #expect(error.code == .deploymentRunning)
                #expect(error.message.contains("there is a deployment by ben@laptop"), "\(error)")
                try await connection.runScript("select pg_advisory_unlock_all()")
            }
            #expect(waits.withLock { $0.count } == 1)
        }
    }

    @Test func `a comparison says who gains and loses documents by data rules`() async throws {
        try await Self.with { world in
            func files(_ read: String, _ write: String, _ more: [String: String] = [:]) -> AppFiles {
                Self.files(
                    more: [
                        "data_sources/mongodb-atlas/d/c/rules.json": """
                        {"database": "d", "collection": "c", "roles": [
                          {"name": "all", "apply_when": {}, "document_filters": {"read": \(read), "write": \(write)},
                           "read": true, "write": true, "insert": true, "delete": true, "search": true}]}
                        """
                    ].merging(more) { $1 })
            }
            let owner = #"{"team": "%%user.id"}"#
            let first = files(owner, owner)
            _ = try await world.deployments.deploy(first)
            let collection = try world.store(first).collection("c", database: "d", app: "life")
            for (id, team) in [("1", "ann"), ("2", "ann"), ("3", "bea")] {
                _ = try await collection.insertOne(["_id": .string(id), "team": .string(team)])
            }
            // Nobody is known before auth's tables are there.
            #expect(try await world.deployments.difference(first).dataAccess == nil)
            let unknown = try await world.deployments.difference(files("true", owner)).dataAccess
            #expect(unknown?.evaluated == 0 && unknown?.lines.count == 1)
            try await world.client.withConnection { connection in
                try await connection.runScript(
                    """
                    create table partita.auth_users (app text, id text, type text, data json, is_pending boolean,
                        last_sign_in bigint);
                    create table partita.auth_identities (app text, provider text, id text, user_id text,
                        created_at bigint);
                    insert into partita.auth_users values ('life', 'ann', 'normal', '{}', false, 2),
                        ('life', 'bea', 'normal', '{}', false, 1), ('other', 'cleo', 'normal', '{}', false, 1);
                    """)
            }
            let wider = try #require(try await world.deployments.difference(files("true", owner)).dataAccess)
            #expect((wider.pairs, wider.evaluated, wider.losses, wider.gains) == (6, 6, 0, 3), "\(wider.lines)")
            #expect(
                wider.examples.contains {
                    $0.user == "bea" && $0.subject.text.hasSuffix(" s:1") && $0.before == .none && $0.after == .read
                })
            let narrower = try #require(try await world.deployments.difference(files(owner, "false")).dataAccess)
            #expect((narrower.losses, narrower.gains) == (3, 0), "\(narrower.lines)")
            #expect(narrower.examples.allSatisfy { $0.before == .write && $0.after == .read })
            #expect(narrower.lines.first == "data access of 6 pairs of a user and a document: 3 lose, 0 gain")
            let byFunction = files(
                #"{"%%true": {"%function": {"name": "mine", "arguments": ["%%root.team"]}}}"#, "false",
                [
                    "functions/config.json": #"[{"name": "mine", "private": true}]"#,
                    "functions/mine.js": "exports = team => team === context.user.id && team !== 'bea';",
                ])
            let functions = try #require(try await world.deployments.difference(byFunction).dataAccess)
            #expect(functions.losses == 3 && functions.failed == 0, "\(functions.lines)")
            #expect(functions.examples.contains { $0.user == "bea" && $0.after == .none })
            // A function that fails without its secret says nothing about who has access.
            let bySecret = files(
                #"{"%%true": {"%function": {"name": "mine", "arguments": []}}}"#, "false",
                [
                    "functions/config.json": #"[{"name": "mine", "private": true}]"#,
                    "functions/mine.js":
                        "exports = () => { if (context.values.get('s') !== 'x') throw new Error('no'); return true; };",
                    "values/s.json": #"{"name": "s", "value": "secret", "from_secret": true}"#,
                ])
            let untold = try #require(try await world.deployments.difference(bySecret).dataAccess)
            #expect((untold.untold, untold.losses, untold.failed) == (6, 0, 0), "\(untold.lines)")
            #expect(untold.lines.first?.contains("of 6 it is unknown") == true)
        }
    }

    @Test func `a rollback chooses its version when it has its turn`() async throws {
        try await Self.with { world in
            @Sendable func files(_ number: Int) -> AppFiles {
                Self.files(more: ["values/a.json": #"{"name": "a", "value": \#(number)}"#])
            }
            for number in 1...2 { _ = try await world.deployments.deploy(files(number)) }
            /// Rolls back while another process deploys version 3.
            @Sendable func rollBack(to number: Int64?) async throws -> AppDeployments.Outcome {
                try await world.client.withConnection { connection in
                    let lock = "hashtextextended('partita.deployment life', 0)"
                    try await connection.execute("select pg_advisory_lock(\(lock))")
                    let waits = AsyncStream<Void>.makeStream()
                    var options = AppDeployments.Options()
                    options.waiting = { _ in waits.continuation.yield() }
                    let chosen = options
                    async let result = world.deployments.rollBack("life", to: number, chosen)
                    var turns = waits.stream.makeAsyncIterator()
                    _ = await turns.next()
                    try await world.registry.deploy(try AppDefinition(files: files(3)))
                    try await connection.runScript("select pg_advisory_unlock(\(lock))")
                    return try await result
                }
            }
            let error = try await #require(throws: DeploymentError.self) { _ = try await rollBack(to: nil) }
            #expect(error.code == .versionChanged && error.message.contains("version 3"), "\(error)")
            #expect(try await world.registry.history(of: "life").first?.number == 3)
            #expect(try await rollBack(to: 1).app?.version == 4)
            #expect(try await world.registry.history(of: "life").first?.restores == 1)
        }
    }

    @Test func `a history has its last versions, within its limits`() async throws {
        try await Self.with { world in
            try await world.registry.migrate()
            for number in 1...AppRegistry.historyCount + 5 {
                var files = Self.files(more: ["values/a.json": #"{"name": "a", "value": \#(number)}"#])
                files.otherFiles = ["hosting/files/x": [UInt8(number % 3)], "hosting/files/y": [UInt8(number)]]
                try await world.registry.deploy(
                    try AppDefinition(files: files), as: DeploymentRecord(message: "n \(number)", by: "ada@test"))
            }
            let history = try await world.registry.history(of: "life")
            #expect(history.count == AppRegistry.historyCount)
            #expect(history.first?.message == "n 55" && history.first?.isCurrent == true && history.last?.number == 6)
            #expect(Set(history.map(\.digest)).count == history.count)
            let stored = try await world.client.query("select count(*) from partita.app_files").decode(Int.self)
            #expect(stored == [53])
            // Large versions: what can't be compressed, so that only a few fit.
            let small = AppRegistry(client: world.client, historyBytes: 1 << 20)
            for _ in 1...6 {
                var files = Self.files()
                var random = SystemRandomNumberGenerator()
                var bytes = [UInt8](repeating: 0, count: 240 << 10)
                bytes.withUnsafeMutableBytes { buffer in
                    for word in buffer.bindMemory(to: UInt64.self).indices {
                        buffer.storeBytes(of: random.next(), toByteOffset: 8 * word, as: UInt64.self)
                    }
                }
                files.otherFiles = ["hosting/files/large": bytes]
                try await small.deploy(try AppDefinition(files: files))
            }
            let large = try await world.registry.history(of: "life")
            #expect(large.count == 4, "\(large.map(\.number))")
            let (_, files) = try await world.registry.version(nil, of: "life")
            #expect(files.otherFiles["hosting/files/large"]?.count == 240 << 10)
        }
    }

    @Test func `an app whose id differs from another's only in case isn't deployed`() async throws {
        try await Self.with { world in
            _ = try await world.deployments.deploy(Self.files())
            let files = Self.files(more: [
                "realm_config.json": #"{"config_version": 20210101, "app_id": "LIFE", "name": "life"}"#
            ])
            for isDryRun in [false, true] {
                var options = AppDeployments.Options()
                options.isDryRun = isDryRun
                let chosen = options
                let error = await #expect(throws: DeploymentError.self) {
                    _ = try await world.deployments.deploy(files, chosen)
                }
                #expect(error?.code == .idTaken)
            }
        }
    }

    @Test func `an unchanged app isn't a new version, and a changed file that nothing reads is one`() async throws {
        try await Self.with { world in
            var files = Self.files()
            files.otherFiles = ["functions/README.md": [1]]
            #expect(try await world.deployments.deploy(files).isNew)
            #expect(try await world.deployments.deploy(files).isNew == false)
            files.otherFiles = ["functions/README.md": [2]]
            #expect(try await world.deployments.deploy(files).isNew)
            let back = try await world.deployments.rollBack("life", to: nil)
            #expect(back.isNew && back.app?.version == 3)
            #expect(try await world.registry.history(of: "life").first?.restores == 1)
            #expect(try await world.registry.version(nil, of: "life").files.otherFiles == ["functions/README.md": [1]])
        }
    }

    @Test func `a dead letter stays when the present version has no trigger that would run`() async throws {
        try await Self.with { world in
            func deploy(_ collection: String?, isDisabled: Bool = false) async throws {
                var more = ["functions/config.json": #"[{"name": "f"}]"#, "functions/f.js": "exports = () => 1;"]
                more["triggers/t.json"] = collection.map {
                    """
                    {"name": "t", "type": "DATABASE", "function_name": "f", "disabled": \(isDisabled), "config": {
                     "service_name": "mongodb-atlas", "database": "d", "collection": "\($0)", "operation_types": ["INSERT"]}}
                    """
                }
                _ = try await world.deployments.deploy(Self.files(more: more))
            }
            try await deploy("C")
            _ = try await world.client.query(
                """
                create table partita.trigger_failures (
                    id bigint, app text, trigger text, event_id text, event text, code text, message text, function text,
                    line bigint, attempts bigint, failed_at timestamptz default now(), replayed_at timestamptz,
                    replay_begun_at timestamptz)
                """)
            let revision = Revision(epoch: 1, number: 1)
            let change = ChangeEvent(
                app: "life", namespace: .init(database: "d", collection: "C"), operationType: .insert, documentKey: 1,
                partition: Partition(text: "s:p"), revision: revision, incarnation: revision, fullDocument: ["_id": 1],
                clusterTime: Timestamp(seconds: 1, increment: 1), wallTime: 0)
            try await world.client.execute(
                """
                insert into partita.trigger_failures (id, app, trigger, event_id, event, code, message, attempts)
                values (7, 'life', 't', 'e', $1, 'c', 'm', 3)
                """, [.text(ExtendedJSON.print(change.encoded()))])
            for (collection, isDisabled, code) in [
                (nil, false, DeploymentError.Code.triggerUnknown), ("Other", false, .triggerState),
                ("C", true, .triggerState),
            ] {
                try await deploy(collection, isDisabled: isDisabled)
                let refusal = await #expect(throws: DeploymentError.self) {
                    try await world.deployments.replayDeadLetter(7, of: "life")
                }
                #expect(refusal?.code == code, "\(String(describing: refusal))")
                #expect(
                    try await world.deployments.deadLetters(of: "life", trigger: nil, after: 0, limit: 9).count == 1)
            }
        }
    }

    @Test func `a trigger's state has its next run, or what it misses during a pause`() async throws {
        try await Self.with { world in
            let trigger = #""function_name": "f", "config""#
            _ = try await world.deployments.deploy(
                Self.files(more: [
                    "functions/config.json": #"[{"name": "f"}]"#, "functions/f.js": "exports = () => 1;",
                    "triggers/s.json": #"{"name": "s", "type": "SCHEDULED", \#(trigger): {"schedule": "*/5 * * * *"}}"#,
                    "triggers/off.json":
                        #"{"name": "off", "type": "SCHEDULED", "disabled": true, \#(trigger): {"schedule": "0 3 * * *"}}"#,
                    "triggers/u.json":
                        #"{"name": "u", "type": "AUTHENTICATION", \#(trigger): {"operation_type": "LOGIN"}}"#,
                ]))
            func states() async throws -> [ExactText: AppDeployments.TriggerState] {
                let states = try await world.deployments.triggers(of: "life")
                return Dictionary(states.map { (ExactText($0.name), $0) }) { first, _ in first }
            }
            // The service of triggers hasn't started yet.
            let before = try await states()
            let now = Int64(Date().timeIntervalSince1970 * 1000)
            let next = try #require(before["s"]?.nextRun)
            #expect(next % 300_000 == 0 && (now - 60_000...now + 300_000).contains(next))
            #expect(before["off"]?.nextRun == nil && before["u"]?.nextRun == nil && before["u"]?.missedEvents == nil)
            _ = try await world.client.query(
                "create table partita.trigger_missed_events (app text, trigger text, place bigint)")
            _ = try await world.client.query(
                "insert into partita.trigger_missed_events values ('life', 'u', 1), ('life', 'u', 2), ('other', 'u', 3)"
            )
            for name in ["s", "u"] { try await world.deployments.pauseTrigger(name, of: "life") }
            let paused = try await states()
            #expect(paused["u"]?.missedEvents == 2 && paused["s"]?.missedEvents == 0)
            #expect(paused["s"]?.nextRun == nil)

            // A version without the trigger: what waits for it is still shown, and isn't dropped.
            _ = try await world.deployments.deploy(Self.files())
            let gone = try #require(try await states()["u"])
            #expect(gone.missedEvents == 2 && gone.state.contains("not in this version"))
            let refusal = await #expect(throws: DeploymentError.self) {
                try await world.deployments.resumeTrigger("u", of: "life")
            }
            #expect(refusal?.code == .triggerState && refusal?.message.contains("2 events wait for u") == true)
            #expect(try await states()["u"]?.missedEvents == 2)
        }
    }
}

import AppDefinition
import AppDeployment
import AppRegistry
import DocumentModel
import DocumentStore
import EventLoop
import Postgres
import TestSupport
import Testing

/// What deployments do to stored documents, and which are refused.
struct DeploymentTests {
    @Test func `a changed partition key is refused with counts, and moves the documents when that is said`()
        async throws
    {
        try await DeploymentWorld.with { world in
            _ = try await world.deployments.deploy(DeploymentWorld.files())
            let c = try world.store(DeploymentWorld.files()).collection("c", database: "d", app: "life")
            for number in 0..<1100 {
                try await c.insertOne([
                    "_id": .int32(Int32(number)), "team": "t", "place": number < 1000 ? "p" : .null, "n": "1",
                ])
            }
            let other = DeploymentWorld.files(key: "place")
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
        try await DeploymentWorld.with { world in
            _ = try await world.deployments.deploy(DeploymentWorld.files())
            let c = try world.store(DeploymentWorld.files()).collection("c", database: "d", app: "life")
            try await c.insertMany([
                ["_id": 1, "team": "t"], ["_id": 2], ["_id": 3, "team": .null],
            ])
            func places() async throws -> String {
                try await world.client.query(
                    #"select _id || ' ' || left(partition, 3) from "life/d".c order by _id"#
                ).decode(String.self).joined(separator: ", ")
            }
            #expect(try await places() == "l:1 s:t, l:2 i:d, l:3 i:d")
            let opened = try await world.deployments.deploy(DeploymentWorld.files(hasNull: true))
            #expect(opened.warnings.contains("2 documents of d.c are in other partitions now"), "\(opened.warnings)")
            #expect(try await places() == "l:1 s:t, l:2 n:, l:3 n:")

            // Under another key, those without it are in the null partition, too: none leaves all devices.
            var dry = AppDeployments.Options()
            dry.isDryRun = true
            let byPlace = try await world.deployments.deploy(DeploymentWorld.files(key: "place", hasNull: true), dry)
            #expect(byPlace.impact.repartitions.map(\.count) == [3])
            #expect(byPlace.impact.repartitions.map(\.unplaced) == [0])

            let error = try await #require(throws: DeploymentError.self) {
                _ = try await world.deployments.deploy(DeploymentWorld.files())
            }
            #expect(error.code == .partitionsChange)
            let line = "2 documents of d.c: no null partition any more; 2 of them have no team and leave all devices"
            #expect(error.message.contains(line), "\(error.message)")
            var options = AppDeployments.Options()
            options.mayRepartition = true
            _ = try await world.deployments.deploy(DeploymentWorld.files(), options)
            #expect(try await places() == "l:1 s:t, l:2 i:d, l:3 i:d")
        }
    }

    @Test func `what a deployment that ended in between has left is finished by others`() async throws {
        try await DeploymentWorld.with { world in
            _ = try await world.deployments.deploy(DeploymentWorld.files())
            let c = try world.store(DeploymentWorld.files()).collection("c", database: "d", app: "life")
            try await c.insertMany((0..<700).map { ["_id": .int32($0), "team": "t", "place": "p"] })
            // As if the process had ended right after its transaction, and while it had built an index.
            let next = try AppDefinition(files: DeploymentWorld.files(key: "place"))
            try await world.registry.deploy(next, as: DeploymentRecord(movesDocuments: true))
            let store = try world.store(DeploymentWorld.files(key: "place"))
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

    @Test func `documents are moved again as long as a service has an older version`() async throws {
        try await DeploymentWorld.with { world in
            _ = try await world.deployments.deploy(DeploymentWorld.files())
            try await world.registry.deploy(
                try AppDefinition(files: DeploymentWorld.files(key: "place")),
                as: DeploymentRecord(movesDocuments: true))
            try await world.client.withConnection { connection in
                // A service is running while it has a connection of its name.
                try await connection.execute("select set_config('application_name', 'service-of-a-test', false)")
                try await connection.execute(
                    """
                    insert into partita.app_instances (app, instance, version)
                    values ('', 'service-of-a-test', 0), ('life', 'service-of-a-test', 1)
                    """)
                var options = AppDeployments.Options()
                options.serviceLimit = .zero
                let chosen = options
                let next = DeploymentWorld.files(
                    key: "place", more: ["values/a.json": #"{"name": "a", "value": 1}"#])
                let outcome = try await world.deployments.deploy(next, chosen)
                #expect(outcome.warnings.contains { $0.contains("service-of-a-test still has version 1") })
                #expect(try await world.registry.placingApps() == ["life"])
                #expect(try await world.deployments.finishAll() == [])
                try await connection.execute(
                    "update partita.app_instances set version = 3 where instance = 'service-of-a-test' and app = 'life'"
                )
                #expect(try await world.deployments.finishAll() == ["life"])
                #expect(try await world.registry.placingApps() == [])
                try await connection.execute("reset application_name")
            }
        }
    }

    @Test func `a schema that stored documents violate is refused with a count and an example`() async throws {
        try await DeploymentWorld.with { world in
            _ = try await world.deployments.deploy(DeploymentWorld.files())
            let c = try world.store(DeploymentWorld.files()).collection("c", database: "d", app: "life")
            try await c.insertMany((0..<30).map { ["_id": .int32($0), "team": "t", "n": "text"] })
            try await world.client.execute(
                """
                insert into partita.uploads (app, user_id, device, partition, last_version, recent, schema_version)
                values ('life', 'ada', 'phone', 's:t', 1, '', 4), ('life', 'ben', 'phone', 's:t', 1, '', 3),
                    ('life', 'cem', 'phone', 's:t', 1, '', 3), ('life', 'dea', 'phone', 's:t', 1, '', null),
                    ('life', 'eva', 'phone', 's:t', 1, '', 0), ('life', 'ben', 'tab', 's:z', 1, '', 5)
                """)
            for files in [DeploymentWorld.files(type: "int"), DeploymentWorld.files(required: #""place""#)] {
                let error = try await #require(throws: DeploymentError.self) {
                    _ = try await world.deployments.deploy(files)
                }
                #expect(error.code == .schemaBreaks && error.message.contains("30 of 30 documents of d.c"), "\(error)")
                #expect(error.message.contains("0: "), "\(error)")
            }
            var dry = AppDeployments.Options()
            dry.isDryRun = true
            let tried = try await world.deployments.deploy(DeploymentWorld.files(required: #""place""#), dry)
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
            #expect(try await world.deployments.deploy(DeploymentWorld.files(type: "int"), options).isNew)
            // What is refused already, and would be for one more reason.
            let more = try await #require(throws: DeploymentError.self) {
                _ = try await world.deployments.deploy(DeploymentWorld.files(type: "int", required: #""place""#))
            }
            #expect(more.code == .schemaBreaks && more.message.contains("30 of 30 documents of d.c"), "\(more)")
            let same = try await world.deployments.deploy(DeploymentWorld.files(type: "long"), dry)
            #expect(
                same.refusal == nil
                    && same.impact.lines.first?.hasPrefix("30 of 30 documents of d.c violate its present") == true,
                "\(same.impact.lines)")
            // Documents that were invalid before are no reason.
            #expect(
                try await world.deployments.deploy(
                    DeploymentWorld.files(type: "int", more: ["values/a.json": #"{"name": "a", "value": 1}"#])
                ).isNew)
        }
    }

    @Test func `a deployment waits for another one, and says whose it is`() async throws {
        try await DeploymentWorld.with { world in
            _ = try await world.deployments.deploy(DeploymentWorld.files())
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
                    _ = try await world.deployments.deploy(DeploymentWorld.files(key: "other"), chosen)
                }
                #expect(error.code == .deploymentRunning)
                #expect(error.message.contains("there is a deployment by ben@laptop"), "\(error)")
                try await connection.runScript("select pg_advisory_unlock_all()")
            }
            #expect(waits.withLock { $0.count } == 1)
        }
    }

    /// The row of the lock of the app's deployments in `pg_locks`.
    private static let lockOfLife = """
        locktype = 'advisory' and database = (select oid from pg_database where datname = current_database())
            and (classid::bigint << 32 | objid::bigint) = hashtextextended('partita.deployment life', 0)
        """

    @Test(arguments: [false, true])
    func `a removal that has lost its lock changes nothing more`(isRemoved: Bool) async throws {
        try await DeploymentWorld.with { world in
            _ = try await world.deployments.deploy(DeploymentWorld.files())
            let c = try world.store(DeploymentWorld.files()).collection("c", database: "d", app: "life")
            try await c.insertOne(["_id": 1, "team": "t"])
            if isRemoved { _ = try await world.deployments.remove("life") }
            let removal = try await world.client.withTransaction { transaction in
                // The removal waits for what this holds: the app, or its document.
                let holder = try await transaction.query("select pg_backend_pid()").decode(Int32.self)[0]
                _ = try await transaction.query(
                    isRemoved ? #"select from "life/d".c for update"# : "select from partita.apps for update")
                let removal = Task { try await world.deployments.remove("life", deletesDocuments: true) }
                try await eventually("the removal waits") {
                    try await !world.client.query(
                        "select from pg_stat_activity a where $1::int = any(pg_blocking_pids(a.pid))",
                        [.int(Int64(holder))]
                    ).isEmpty
                }
                let ended = try await world.client.query(
                    "select pg_terminate_backend(pid) from pg_locks where \(Self.lockOfLife)"
                ).decode(Bool.self)
                #expect(ended == [true])
                try await eventually("the lock is gone") {
                    try await world.client.query("select from pg_locks where \(Self.lockOfLife)").isEmpty
                }
                return removal
            }
            let error = await #expect(throws: DeploymentError.self) { _ = try await removal.value }
            #expect(error?.code == .lockLost, "\(String(describing: error))")
            let app = try await world.registry.load("life")
            #expect((app == nil) == isRemoved)
            #expect(try await c.countDocuments() == 1)
        }
    }

    @Test func `an app whose id differs from another's only in case isn't deployed`() async throws {
        try await DeploymentWorld.with { world in
            _ = try await world.deployments.deploy(DeploymentWorld.files())
            let files = DeploymentWorld.files(more: [
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
        try await DeploymentWorld.with { world in
            var files = DeploymentWorld.files()
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
}

import AppRegistry
import DocumentModel
import DocumentStore
import Logging
import RealmSync
import RealmTestClient
import SyncEngine
import TestSupport
import Testing

@testable import SyncGateway

/// What of a history new clients are sent, and what of it is kept.
@Suite struct RealmSnapshotTests {
    private let logger = Logger(label: "realm-snapshots")

    private func key(_ partition: Partition, _ number: Int) -> ObjectKey {
        ObjectKey(table: "ChatMessage", id: .string(ExactText("\(partition.text)/\(number)")))
    }

    private func message(_ text: String, in partition: Partition) -> Document {
        ["partition": .string(String(partition.text.dropFirst(2))), "text": .string(text), "timestamp": .date(1000)]
    }

    /// A text that can't be compressed to nothing.
    private func text(_ bytes: Int, _ seed: Int) -> String {
        var state = UInt64(seed &* 2_654_435_761 &+ 1)
        return String(
            (0..<bytes).map { _ in
                state = state &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
                return Character(UnicodeScalar(UInt8(97 + (state >> 33) % 26)))
            })
    }

    private func clients(
        _ users: [String], in partition: Partition, of fixture: GatewayFixture
    ) async throws -> [RealmClient] {
        var clients: [RealmClient] = []
        for user in users {
            try await fixture.grant(.write, to: user, in: partition)
            clients.append(RealmClient(user, in: partition, of: fixture))
        }
        return clients
    }

    /// What an hour of the gateway does, for clients that may be away for a time.
    private func sweep(_ fixture: GatewayFixture, offline: Duration = .seconds(86_400)) async throws {
        let apps = AppDirectory(registry: AppRegistry(client: fixture.postgres), logger: logger)
        let loading = Task { try await apps.run() }
        defer { loading.cancel() }
        let hub = RealmHub(store: fixture.store, apps: apps, on: GatewayFixture.loops.next(), logger: logger)
        try await RealmRetention(
            hub: hub, tables: RealmTables(client: fixture.postgres), offline: offline, logger: logger
        ).sweep()
    }

    private func count(_ table: String, _ partition: Partition, _ fixture: GatewayFixture) async throws -> Int64 {
        try await fixture.postgres.query(
            "select count(*) from partita.\(table) where partition = $1", [.text(partition.text)]
        ).first?.decode(0) ?? 0
    }

    @Test func `a new client is sent the state, not all that led to it`() async throws {
        let fixture = try await GatewayFixture.shared(), partition = fixture.partition()
        let all = try await clients(["ann", "bob", "cem"], in: partition, of: fixture)
        let (ann, bob, cem) = (all[0], all[1], all[2])
        try await ann.open()
        for round in 0..<60 {
            try ann.write((key(partition, round % 3), message(text(10_000, round), in: partition)))
            try await ann.upload()
        }
        try ann.write((key(partition, 0), nil))
        try await ann.upload()

        try await bob.open()
        #expect(bob.objects.isSame(as: ann.objects) && bob.objects.objects.count == 2)
        #expect(bob.receivedBytes < 30_000)
        #expect(bob.downloaded.server == ann.downloaded.server || bob.downloaded.server >= 61)
        // What it does is merged with what the others do, as always.
        try bob.write((key(partition, 1), message("by bob", in: partition)))
        try ann.write((key(partition, 2), message("by ann", in: partition)))
        try await bob.upload()
        try await ann.upload()
        try await bob.catchUp()
        try await ann.catchUp()
        #expect(bob.objects.isSame(as: ann.objects))
        // The snapshot is good for the next one, too, with what has come since.
        try await cem.open()
        #expect(cem.objects.isSame(as: ann.objects))
        #expect(try await count("realm_snapshots", partition, fixture) == 1)
        #expect(ann.errors.isEmpty && bob.errors.isEmpty && cem.errors.isEmpty)
    }

    @Test func `a snapshot that takes long doesn't keep clients of other partitions waiting`() async throws {
        // One of its own: snapshots of other tests would wait.
        let fixture = try await GatewayFixture()
        let (slow, large, small) = (fixture.partition(), fixture.partition(), fixture.partition())
        var writers: [RealmClient] = []
        for (partition, rounds) in [(slow, 60), (large, 60), (small, 1)] {
            let ann = try await clients(["ann", "bob"], in: partition, of: fixture)[0]
            try await ann.open()
            for round in 0..<rounds {
                try ann.write((key(partition, round % 3), message(text(10_000, round), in: partition)))
                try await ann.upload()
            }
            writers.append(ann)
        }
        let bob = RealmClient("bob", in: slow, of: fixture)
        try await fixture.postgres.withTransaction { transaction in
            // The gateway's snapshot waits for this one, and keeps its place.
            try await transaction.execute(
                """
                insert into partita.realm_snapshot_parts (app, partition, snapshot, part, salt, bytes)
                select app, partition, version, 1, 0, '' from partita.realm_partitions where partition = $1
                """, [.text(slow.text)])
            try await bob.connect()
            try await bob.begin()
            try await eventually("the snapshot waits") {
                try await fixture.postgres.query(
                    """
                    select from pg_stat_activity where datname = current_database()
                        and wait_event_type = 'Lock' and query like '%realm_snapshot_parts%'
                    """
                ).count == 1
            }
            for (partition, ann) in zip([small, large], writers.reversed()) {
                let other = RealmClient("bob", in: partition, of: fixture)
                try await other.open()
                #expect(other.objects.isSame(as: ann.objects) && other.errors.isEmpty)
            }
            try await transaction.execute(
                "delete from partita.realm_snapshot_parts where partition = $1", [.text(slow.text)])
        }
        try await bob.catchUp()
        #expect(bob.objects.isSame(as: writers[0].objects) && bob.receivedBytes < 60_000)
        #expect(try await count("realm_snapshots", slow, fixture) == 1)
        #expect(try await count("realm_snapshots", large, fixture) == 0)
        fixture.stop()
    }

    @Test func `a client that is cut off in a snapshot goes on with it, whatever happens meanwhile`() async throws {
        let fixture = try await GatewayFixture.shared(), partition = fixture.partition()
        let all = try await clients(["ann", "bob", "cem"], in: partition, of: fixture)
        let (ann, bob, cem) = (all[0], all[1], all[2])
        try await ann.open()
        for number in 0..<60 {
            try ann.write((key(partition, number), message(text(100_000, number), in: partition)))
            try await ann.upload()
        }
        try await bob.connect()
        try await bob.begin()
        try await bob.receive()
        bob.cut()
        let number = bob.objects.objects.count
        #expect(number > 0 && number < 60)

        // It writes to what it has and to what it doesn't have yet; others write more than a snapshot; all is trimmed.
        try bob.write((key(partition, 59), message("new to bob", in: partition)))
        // Not the one that Ann erases below, nor one to which she writes.
        let known = try #require(
            ([0] + Array(2..<20)).map { key(partition, $0) }.first { bob.objects.objects[$0] != nil })
        try bob.write((known, message("known to bob", in: partition)))
        for number in 20..<60 {
            try ann.write((key(partition, number), message(text(100_001, number), in: partition)))
        }
        try ann.write((key(partition, 1), nil))
        try await ann.upload()
        try await cem.open()
        #expect(cem.objects.isSame(as: ann.objects))
        #expect(try await count("realm_snapshots", partition, fixture) == 2)
        try await sweep(fixture)
        #expect(try await count("realm_snapshots", partition, fixture) == 2)

        let received = bob.receivedBytes
        try await bob.connect()
        try await bob.begin()
        bob.sendPending()
        try await bob.catchUp()
        try await bob.upload()
        try await bob.catchUp()
        for client in [ann, cem] { try await client.catchUp() }
        #expect(bob.errors.isEmpty && ann.errors.isEmpty)
        #expect(bob.objects.isSame(as: ann.objects) && cem.objects.isSame(as: ann.objects))
        #expect(ann.objects.objects.count == 59 && ann.objects.objects[known]?["text"] == "known to bob")
        #expect(bob.receivedBytes - received < 11_000_000)
        // What is in the documents is what all of them have.
        let stored = try await fixture.store.collection("ChatMessage", database: "RChat", app: GatewayFixture.app)
            .findOne(["_id": known.id.value])
        #expect(stored?["text"] == "known to bob")
    }

    @Test func `what all clients have is trimmed, and those who were away for too long begin anew`() async throws {
        let fixture = try await GatewayFixture.shared(), partition = fixture.partition()
        let all = try await clients(["ann", "bob", "cem"], in: partition, of: fixture)
        let (ann, bob, cem) = (all[0], all[1], all[2])
        try await ann.open()
        try await bob.open()
        try ann.write((key(partition, 0), message("first", in: partition)))
        try await ann.upload()
        try await bob.catchUp()
        bob.cut()
        for round in 0..<40 {
            try ann.write((key(partition, 1), message(text(10_000, round), in: partition)))
            try await ann.upload()
        }
        try await cem.open()
        let entries = try await count("realm_history", partition, fixture)
        // Bob has little of it, and may come again.
        try await sweep(fixture)
        #expect(try await count("realm_history", partition, fixture) > entries - 5)
        try await bob.connect()
        try await bob.begin()
        try await bob.catchUp()
        #expect(bob.errors.isEmpty && bob.objects.isSame(as: ann.objects))

        // Ann and Bob note how far they are when they go. Then only the newest entries are needed.
        for client in [ann, bob, cem] {
            try await client.catchUp()
            client.cut()
        }
        try await eventually("the history is trimmed", within: patience) {
            try await sweep(fixture)
            return try await count("realm_history", partition, fixture) < 10
        }
        for client in [ann, bob, cem] {
            try await client.connect()
            try await client.begin()
            try client.write((key(partition, 2), message("after it", in: partition)))
            try await client.upload()
            try await client.catchUp()
            #expect(client.errors.isEmpty && client.objects.objects.count == 3)
        }
        // Who wasn't there for too long is told to begin anew, and can. (What it had noted when it went may be written only now.)
        bob.cut()
        let error = try await eventually("the client is forgotten", within: patience) {
            try await fixture.postgres.execute(
                """
                update partita.realm_files set seen_at = now() - interval '2 days'
                where partition = $1 and file = $2
                """, [.text(partition.text), .int(Int64(bob.file?.ident ?? 0))])
            try await sweep(fixture)
            try await bob.connect()
            try await bob.begin()
            let message = try await bob.next()
            bob.cut()
            return message.name == "json_error" ? message : nil
        }
        #expect(error.json["action"] == "ClientReset")
        let anew = RealmClient("bob", in: partition, of: fixture)
        try await anew.open()
        try await ann.catchUp()
        #expect(anew.objects.isSame(as: ann.objects))
    }

    @Test func `few reads of a connection are in flight, however many partitions it has open`() async throws {
        // One of its own: the tables are locked.
        let fixture = try await GatewayFixture(settings: ["postgres.connections": "24"])
        let partitions = (0..<12).map { _ in fixture.partition() }
        let hub = RealmHub(
            store: fixture.store, apps: AppDirectory(registry: AppRegistry(client: fixture.postgres), logger: logger),
            on: GatewayFixture.loops.next(), logger: logger)
        for (number, partition) in partitions.enumerated() {
            let ann = try await clients(["ann"], in: partition, of: fixture)[0]
            try await ann.open()
            try ann.write((key(partition, 0), message(text(200_000, number), in: partition)))
            try await ann.upload()
            ann.cut()
            try await hub.history(of: PartitionKey(app: GatewayFixture.app, partition: partition)).makeSnapshot()
        }
        let client = RealmClient("ann", in: partitions[0], of: fixture)
        try await client.connect()
        var idents: [String] = []
        for (number, partition) in partitions.enumerated() {
            let path = Array(ExtendedJSON.print(partition.value ?? .null).utf8)
            client.send("bind \(number + 1) \(path.count) 0 1 0", path)
            let ident = try await client.next()
            try #require(ident.name == "ident", "\(ident)")
            idents.append("ident \(number + 1) \(ident.numbers[1]) \(ident.numbers[2]) 0 0 0 0")
        }
        let files = partitions.map(\.text)
        func inFlight() async throws -> Int {
            try await fixture.postgres.query(
                """
                select from pg_stat_activity where datname = current_database()
                    and wait_event_type = 'Lock' and query like '%realm_snapshot_parts%'
                """
            ).count
        }
        try await fixture.postgres.withTransaction { transaction in
            try await transaction.execute("lock table partita.realm_snapshot_parts in access exclusive mode")
            for ident in idents { client.send(ident) }
            try await eventually("all have begun, and some read") {
                let begun = try await fixture.postgres.query(
                    "select from partita.realm_files where partition = any($1::text[]) and snapshot > 0",
                    [.textArray(files)])
                let reads = try await inFlight()
                return begun.count == 12 && reads >= ChunkReads.limit
            }
            // The gateway has taken all of them when it answers a later message.
            client.send("ping 1 0")
            #expect(try await client.next().name == "pong")
            #expect(try await inFlight() == ChunkReads.limit)
        }
        var downloaded: Set<UInt64> = []
        while downloaded.count < 12 {
            let message = try await client.next()
            try #require(message.name == "download", "\(message)")
            downloaded.insert(message.numbers[0])
        }
        fixture.stop()
    }

    @Test func `only a file's own client keeps it from being forgotten`() async throws {
        let fixture = try await GatewayFixture.shared(), partition = fixture.partition()
        let all = try await clients(["ann", "bob"], in: partition, of: fixture)
        let (ann, bob) = (all[0], all[1])
        try await ann.connect()
        let path = Array(ExtendedJSON.print(partition.value ?? .null).utf8)
        ann.send("bind 1 \(path.count) 0 1 0", path)
        let ident = try await ann.next()
        let (file, secret) = (ident.numbers[1], ident.numbers[2])
        ann.cut()
        try await fixture.postgres.execute(
            "update partita.realm_files set seen_at = now() - interval '3 hours' where partition = $1 and file = $2",
            [.text(partition.text), .int(Int64(file))])
        func isUntouched() async throws -> Bool {
            try await fixture.postgres.query(
                """
                select from partita.realm_files
                where partition = $1 and file = $2 and snapshot is null and seen_at < now() - interval '1 hour'
                """, [.text(partition.text), .int(Int64(file))]
            ).count == 1
        }
        // Another client of the same user without the secret, and another user who has it.
        for (client, salt) in [(ann, secret ^ 1), (bob, secret)] {
            client.edit { $0.file = (file, salt) }
            try await client.connect()
            try await client.begin()
            #expect(try await client.next().json["action"] == "ClientReset")
            #expect(try await isUntouched())
            client.cut()
        }
        ann.edit { $0.file = (file, secret) }
        try await ann.open()
        #expect(try await !isUntouched())
    }

    /// Adds entries to the history of a partition that has no client any more, so that it is worth a snapshot.
    private func grow(_ partition: Partition, _ fixture: GatewayFixture) async throws {
        for statement in [
            """
            with grown as (
                update partita.realm_partitions set version = version + 1100 where partition = $1
                returning app, partition, version - 1100 as version)
            insert into partita.realm_history (app, partition, version, salt, file, client_version, origin_time, bytes)
            select app, partition, version + n, n, 1, 0, 0, convert_to(repeat('x', 300), 'UTF8')
            from grown, generate_series(1, 1100) n
            """,
            "delete from partita.realm_files where partition = $1",
        ] { try await fixture.postgres.execute(statement, [.text(partition.text)]) }
    }

    @Test func `a partition that can't be trimmed doesn't keep others from it`() async throws {
        let fixture = try await GatewayFixture.shared()
        // In the order in which they are trimmed.
        let partitions = [fixture.partition(), fixture.partition()].sorted {
            $0.text.utf8.lexicographicallyPrecedes($1.text.utf8)
        }
        for partition in partitions {
            let ann = try await clients(["ann"], in: partition, of: fixture)[0]
            try await ann.open()
            try ann.write((key(partition, 0), message("first", in: partition)))
            try await ann.upload()
            ann.cut()
            try await grow(partition, fixture)
        }
        try await fixture.postgres.execute(
            "update partita.realm_objects set body = 'none' where partition = $1", [.text(partitions[0].text)])
        try await sweep(fixture)
        #expect(try await count("realm_history", partitions[0], fixture) > 1000)
        #expect(try await count("realm_history", partitions[1], fixture) < 10)
        try await fixture.postgres.execute(
            "delete from partita.realm_partitions where partition = $1", [.text(partitions[0].text)])
    }

    @Test func `a page of objects ends by its bytes`() async throws {
        let fixture = try await GatewayFixture.shared(), partition = fixture.partition()
        let ann = try await clients(["ann"], in: partition, of: fixture)[0]
        try await ann.open()
        for number in 0..<9 { try ann.write((key(partition, number), message(text(10_000, number), in: partition))) }
        try await ann.upload()
        let tables = RealmTables(client: fixture.postgres)
        let place = PartitionKey(app: GatewayFixture.app, partition: partition)
        let pages = try await fixture.postgres.withTransaction { transaction in
            var pages: [Int] = [], last: ObjectKey?
            while true {
                let page = try await tables.objects(of: place, after: last, limit: 500, bytes: 25_000, in: transaction)
                guard let newest = page.last?.key else { return pages }
                pages.append(page.count)
                last = newest
            }
        }
        #expect(pages == [3, 3, 3])
    }

    @Test func `an app says how long its clients may be away, and whether they may recover`() async throws {
        let fixture = try await GatewayFixture.shared()
        let app = "offlinedays", partition = fixture.partition(), sync = "sync/config.json"
        let settings = try #require(try RecordedApp.files(of: app).texts[ExactText(sync)]).replacing(
            "{\"state\"", with: #"{"client_max_offline_days": 2, "is_recovery_mode_disabled": true, "state""#)
        // A gateway that has read the apps before this one is deployed knows it when it forgets clients.
        let apps = AppDirectory(
            registry: AppRegistry(client: fixture.postgres), pollInterval: .seconds(3600), logger: logger)
        let loading = Task { try await apps.run() }
        defer { loading.cancel() }
        await apps.waitUntilLoaded()
        try await RecordedApp.deploy(app, to: fixture, more: [ExactText(sync): settings])
        try await fixture.grant(.write, to: "ann", in: partition, app: app)
        let ann = RealmClient("ann", in: partition, of: fixture, app: app)
        try await RecordedApp.open(ann)
        // One that has a file, and hasn't begun with it, is forgotten after a day.
        try await ann.catchUp()
        ann.cut()
        /// Whether the client is forgotten that was away for a time, where a client may be away for a day.
        func isForgotten(after hours: Int) async throws -> Bool {
            try await fixture.postgres.execute(
                "update partita.realm_files set seen_at = now() - $2 * interval '1 hour' where partition = $1",
                [.text(partition.text), .int(Int64(hours))])
            let hub = RealmHub(store: fixture.store, apps: apps, on: GatewayFixture.loops.next(), logger: logger)
            try await RealmRetention(
                hub: hub, tables: RealmTables(client: fixture.postgres), offline: .seconds(86_400), logger: logger
            ).sweep()
            return try await count("realm_files", partition, fixture) == 0
        }
        #expect(try await !isForgotten(after: 47))
        #expect(try await isForgotten(after: 49))
        try await ann.connect()
        try await ann.begin()
        let error = try await ann.next().json
        #expect(error["action"] == "ClientReset" && error["isRecoveryModeDisabled"] == true)
    }

    @Test func `a client that is connected isn't away, also if it sends nothing`() async throws {
        let fixture = try await GatewayFixture(settings: ["realm.offline": "3s"])
        let partition = fixture.partition()
        let ann = try await clients(["ann"], in: partition, of: fixture)[0]
        try await ann.open()
        try await Task.sleep(for: .seconds(6))  // longer than a client may be away
        try ann.write((key(partition, 0), message("still there", in: partition)))
        try await ann.upload()
        #expect(ann.errors.isEmpty)
        ann.cut()
        try await eventually("the client is forgotten", within: patience) {
            try await count("realm_files", partition, fixture) == 0
        }
        try await ann.connect()
        try await ann.begin()
        #expect(try await ann.next().json["action"] == "ClientReset")
        fixture.stop()
    }
}

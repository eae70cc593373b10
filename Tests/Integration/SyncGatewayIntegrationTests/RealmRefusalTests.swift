import DocumentModel
import DocumentStore
import Postgres
import RealmSync
import RealmTestClient
import SyncEngine
import TestSupport
import Testing

/// What a client with a modified SDK sends, and what documents can't have.
@Suite struct RealmRefusalTests {
    private struct World {
        let fixture: GatewayFixture
        let partition: Partition
        let app: String
        let mallory: RealmClient
        let honest: RealmClient

        init(_ app: String) async throws {
            fixture = try await GatewayFixture.shared()
            self.app = app
            partition = fixture.partition()
            try await RecordedApp.deploy(app, to: fixture)
            for user in ["mallory", "ann"] { try await fixture.grant(.write, to: user, in: partition, app: app) }
            mallory = RealmClient("mallory", in: partition, of: fixture, app: app)
            honest = RealmClient("ann", in: partition, of: fixture, app: app)
            try await RecordedApp.open(mallory)
            try await honest.open()
        }

        /// The document of an object.
        func document(_ key: ObjectKey) async throws -> Document? {
            try await fixture.store.collection(key.table, database: "chat", app: app).findOne(["_id": key.id.value])
        }

        /// An edit of a property of an object of `Box`, or inside of it.
        func edit(_ number: Int64, _ field: String, _ steps: [String] = [], _ edits: Edit...) throws
            -> RealmSync.Changeset
        {
            var changeset = RealmSync.Changeset()
            func name(_ text: String) -> InternString { changeset.strings.intern(Array(text.utf8)) }
            let path = Path(
                table: name("Box"), key: .int(number), field: name(field), elements: steps.map { .key(name($0)) })
            changeset.instructions = edits.map { .edit(path, $0) }
            return changeset
        }
    }

    @Test func `a class that isn't what the app says ends only the session of its client`() async throws {
        let world = try await World("otherclasses")
        for table in ["Box", "X\u{0}"] {
            let client = RealmClient("mallory", in: world.partition, of: world.fixture, app: world.app)
            try await client.open()
            var changeset = RealmSync.Changeset()
            func name(_ text: String) -> InternString { changeset.strings.intern(Array(text.utf8)) }
            let key = PrimaryKeyColumn(field: name("_id"), type: .int, isNullable: false)
            let isAsymmetric = table == "Box"
            changeset.instructions =
                (isAsymmetric ? [.addTable(name(table), .asymmetric(key))] : []) + [
                    .createObject(table: name(table), .int(1))
                ]
            try client.commit(changeset)
            client.sendPending()
            try await client.receive { !$0.errors.isEmpty }
            #expect(client.errors.first?.numbers.first == 225, "\(client.errors.map(\.json))")
        }
        let box = ObjectKey(table: "Box", id: .int(2))
        try world.honest.write((box, ["li": [1]]))
        try await world.honest.upload()
        #expect(world.honest.errors.isEmpty)
        #expect(try await world.document(box)?["li"] == [1])
    }

    @Test func `what is good behind a refused write isn't committed one by one`() async throws {
        let world = try await World("onebad")
        let other = world.fixture.partition(), taken = ObjectKey(table: "Box", id: .int(1))
        try await world.fixture.grant(.write, to: "ann", in: other, app: world.app)
        let owner = RealmClient("ann", in: other, of: world.fixture, app: world.app)
        try await owner.open()
        try owner.write((taken, ["li": [1]]))
        try await owner.upload()
        owner.cut()
        try world.mallory.write((taken, ["li": [2]]))
        for number in 2...300 as ClosedRange<Int64> {
            try world.mallory.write((ObjectKey(table: "Box", id: .int(number)), ["li": [.int64(number)]]))
        }
        try await world.mallory.upload()
        try await world.honest.receive { $0.objects.objects.keys.count { $0.table == "Box" } == 299 }
        #expect(world.mallory.errors.map(\.numbers.first) == [231])
        let transactions = try await world.fixture.postgres.query(
            "select count(distinct xmin::text) from partita.realm_history where app = $1 and partition = $2",
            [.text(world.app), .text(world.partition.text)]
        ).decode(Int64.self)[0]
        #expect(transactions < 40)
    }

    @Test func `a value that no document can have is undone, and the session goes on`() async throws {
        let world = try await World("unfitvalues")
        let box = ObjectKey(table: "Box", id: .int(1)), mallory = world.mallory
        try mallory.write((box, ["m": "before"]))
        try await mallory.upload()
        let many = Decimal128(high: 0x3041_ED09_BEAD_87C0, low: 0x378D_8E64_0000_0000)  // 10^34
        let payloads: [Payload] = [
            .decimal(many), .timestamp(RealmTimestamp(seconds: 1 << 62, nanoseconds: 0)),
            .timestamp(RealmTimestamp(seconds: .min, nanoseconds: 0)),
        ]
        for (count, payload) in payloads.enumerated() {
            try mallory.apply(try world.edit(1, "m", [], .update(payload, isDefault: false)))
            try await mallory.upload()
            try await mallory.receive { $0.objects.objects[box]?["m"] == "before" }
            #expect(mallory.errors.map(\.numbers.first) == Array(repeating: 231, count: count + 1))
        }
        var link = try world.edit(1, "m", [], .update(.dictionary, isDefault: false))
        for (key, text) in [("$ref", "Gone"), ("$id", "a")] {
            let bytes = link.strings.append(Array(text.utf8))
            guard case .edit(let path, _) = link.instructions[0] else { return }
            var inner = path
            inner.elements = [.key(link.strings.intern(Array(key.utf8)))]
            link.instructions.append(.edit(inner, .update(.string(bytes), isDefault: false)))
        }
        try mallory.apply(link)
        try await mallory.upload()
        try await mallory.receive { $0.objects.objects[box]?["m"] == "before" }
        let reason = mallory.errors.last?.json["rejectedUpdates"]?.arrayValue?.first?["reason"]?.stringValue
        #expect(reason == "a dictionary in a mixed value can't have the key $ref, which is a link's")
        #expect(mallory.errors.count == 4)
        // A dictionary that is the property itself has any keys.
        try mallory.write((box, ["m": "before", "di": ["$ref": 1, "$id": 2]]))
        try await mallory.upload()
        try await world.honest.catchUp()
        #expect(world.honest.objects.isSame(as: mallory.objects))
        #expect(try await world.document(box)?["di"] == ["$id": 2, "$ref": 1])
        #expect(mallory.errors.count == 4)
    }

    @Test func `a write to a document that another writer has made unfit is told as refused`() async throws {
        let world = try await World("madeunfit"), mallory = world.mallory
        let boxes = (1...4 as ClosedRange<Int64>).map { ObjectKey(table: "Box", id: .int($0)) }
        for box in boxes { try mallory.write((box, ["m": "before"])) }
        try await mallory.upload()
        mallory.cut()
        let stored = world.fixture.store.collection("Box", database: "chat", app: world.app)
        // SQL keeps to no schema.
        func set(_ list: String) async throws {
            try await world.fixture.postgres.execute(
                """
                update "\(world.app)/chat"."Box" set document = jsonb_set(document, '{li}', '\(list)')
                where _id = any($1)
                """, [.textArray(boxes[..<2].compactMap(\.id.value.idText))])
        }
        try await set(#""a text""#)
        _ = try await stored.deleteOne(["_id": 3])
        // The second change of the first object, and the deletion of the second one, are other transactions.
        try mallory.write((boxes[0], ["m": "mine"]), (boxes[2], ["m": "mine"]), (boxes[3], ["m": "mine"]))
        try mallory.write((boxes[0], ["m": "mine again"]))
        try mallory.write((boxes[1], nil))
        try await mallory.connect()
        try await mallory.begin()
        try await mallory.upload()
        try await mallory.catchUp()
        #expect(mallory.errors.map(\.numbers.first) == [231, 231, 231])
        let told = mallory.errors.map { error in
            error.json.documents("rejectedUpdates").map { $0["reason"]?.stringValue ?? "" }
        }
        #expect(told.map(\.count) == [1, 1, 1], "\(told)")
        #expect(told.joined().allSatisfy { $0.contains("doesn't fit its class") && $0.contains("li") }, "\(told)")
        // The deletion of a document wins as before, and the other writes of the transaction count.
        #expect(try await world.document(boxes[2]) == nil)
        #expect(try await world.document(boxes[3])?["m"] == "mine")
        #expect(mallory.objects.objects.keys.filter { $0.table == "Box" } == [boxes[3]])
        // What others have made of them is there, and comes back when it fits.
        try await set("[5]")
        try await mallory.receive { $0.objects.objects[boxes[0]]?["m"] == "before" }
        try await mallory.receive { $0.objects.objects[boxes[1]]?["m"] == "before" }
    }

    @Test func `what was good before a bad changeset is acknowledged before the client has to begin anew`() async throws
    {
        let world = try await World("goodandbad")
        let box = ObjectKey(table: "Box", id: .int(3)), mallory = world.mallory
        for number in 1...3 as ClosedRange<Int64> { try mallory.write((box, ["li": [.int64(number)]])) }
        // An edit of an object that there isn't.
        try mallory.commit(try world.edit(4, "m", [], .addInteger(1)))
        mallory.sendPending()
        try await mallory.receive { !$0.errors.isEmpty }
        #expect(mallory.errors.first?.numbers.first == 212 && mallory.errors.first?.json["action"] == "ClientReset")
        #expect(mallory.pending.count == 1)
        #expect(try await world.document(box)?["li"] == [3])
    }

    @Test func `what others have elsewhere isn't told by the reason of a refusal`() async throws {
        let world = try await World("elsewhere")
        let box = ObjectKey(table: "Box", id: .int(77)), elsewhere = world.fixture.partition()
        try await world.fixture.grant(.write, to: "ann", in: elsewhere, app: world.app)
        let other = RealmClient("ann", in: elsewhere, of: world.fixture, app: world.app)
        try await other.open()
        try other.write((box, ["li": [1]]))
        try await other.upload()
        try world.mallory.write((box, ["li": [2]]))
        try await world.mallory.upload()
        try await world.mallory.receive { $0.objects.objects[box] == nil }
        let reason = world.mallory.errors.last?.json["rejectedUpdates"]?.arrayValue?.first?["reason"]?.stringValue
        #expect(reason == "another object has the primary key")
        #expect(try await world.document(box)?["li"] == [1])
    }

    @Test func `uploads into many partitions are committed together, and one that is refused fails alone`() async throws
    {
        let world = try await World("together"), taken = ObjectKey(table: "Box", id: .int(1000)), rounds = 10
        try world.honest.write((taken, ["li": [1]]))
        try await world.honest.upload()
        var clients: [RealmClient] = []
        for _ in 0..<12 {
            let partition = world.fixture.partition()
            try await world.fixture.grant(.write, to: "ann", in: partition, app: world.app)
            clients.append(RealmClient("ann", in: partition, of: world.fixture, app: world.app))
            try await clients[clients.count - 1].open()
        }
        func box(_ round: Int, _ number: Int) -> ObjectKey {
            number == 7 ? taken : ObjectKey(table: "Box", id: .int(Int64(round * 20 + number)))
        }
        for round in 0..<rounds {
            for (number, client) in clients.enumerated() { try client.write((box(round, number), ["li": [7]])) }
            for client in clients { client.sendPending() }
            for client in clients { try await client.upload() }
            try await clients[7].receive { $0.objects.objects[taken] == nil }
        }
        for (number, client) in clients.enumerated() where number != 7 {
            #expect(client.errors.isEmpty)
            for round in 0..<rounds { #expect(try await world.document(box(round, number))?["li"] == [7]) }
        }
        #expect(clients[7].errors.map { $0.numbers.first } == Array(repeating: 231, count: rounds))
        #expect(try await world.document(taken)?["li"] == [1])
        let (objects, transactions) = try #require(
            try await world.fixture.postgres.query(
                "select count(*), count(distinct xmin::text) from partita.realm_objects where app = $1",
                [.text(world.app)]
            ).decode((Int, Int).self).first)
        #expect(objects == 11 * rounds + 1)
        #expect(transactions < objects / 2, "\(transactions) of \(objects)")
    }

    @Test func `an object that others have or make in their partitions at the same time stays theirs`() async throws {
        let world = try await World("taken")
        let owned = ObjectKey(table: "Box", id: .int(1))
        func client(_ user: String) async throws -> RealmClient {
            let partition = world.fixture.partition()
            try await world.fixture.grant(.write, to: user, in: partition, app: world.app)
            let client = RealmClient(user, in: partition, of: world.fixture, app: world.app)
            try await client.open()
            return client
        }
        let owner = try await client("ann")
        var others: [RealmClient] = []
        for _ in 0..<8 { others.append(try await client("mallory")) }
        try owner.write((owned, ["li": [0]]))
        try await owner.upload()
        for round in 1...20 {
            let new = ObjectKey(table: "Box", id: .int(Int64(100 + round)))
            try owner.write((owned, ["li": [.int64(Int64(round))]]))
            try others[0].write((owned, ["li": [-1]]))
            for other in others[1...] { try other.write((new, ["li": [.int64(Int64(round))]])) }
            for client in [owner] + others { client.sendPending() }
            for client in [owner] + others { try await client.upload() }
            for client in others { try await client.catchUp() }
            #expect(try await world.document(owned)?["li"] == [.int64(Int64(round))])
            #expect(others[0].objects.objects[owned] == nil)
            let owners = others[1...].filter { $0.objects.objects[new] != nil }
            #expect(owners.count == 1)
        }
        #expect(owner.errors.isEmpty)
        #expect(others[0].errors.map { $0.numbers.first } == Array(repeating: 231, count: 20))
        let refusals = others[1...].reduce(0) { $0 + $1.errors.count }
        #expect(refusals == 20 * 6)
    }

    @Test func `a document that another writer has locked keeps only its partition's clients waiting`() async throws {
        let world = try await World("locked"), locked = ObjectKey(table: "Box", id: .int(1))
        let partitions = (0..<12).map { _ in world.fixture.partition() }
        var clients: [RealmClient] = []
        for partition in partitions {
            try await world.fixture.grant(.write, to: "ann", in: partition, app: world.app)
            let client = RealmClient("ann", in: partition, of: world.fixture, app: world.app)
            try await client.open()
            clients.append(client)
        }
        try clients[0].write((locked, ["li": [0]]))
        try await clients[0].upload()
        try await world.fixture.postgres.withTransaction { transaction in
            let rows = try await transaction.query(
                "select from \"locked/chat\".\"Box\" where partition = $1 for update", [.text(partitions[0].text)])
            #expect(rows.count == 1)
            try clients[0].write((locked, ["li": [1]]))
            clients[0].sendPending()
            let begin = ContinuousClock.now
            for round in 0..<5 {
                for (number, client) in clients.enumerated().dropFirst() {
                    try client.write((ObjectKey(table: "Box", id: .int(Int64(100 + round * 20 + number))), ["li": [1]]))
                    client.sendPending()
                }
                for client in clients.dropFirst() { try await client.upload() }
            }
            // The document is still locked.
            #expect(ContinuousClock.now - begin < .seconds(8))
        }
        try await clients[0].upload()
        #expect(try await world.document(locked)?["li"] == [1])
        for client in clients { #expect(client.errors.isEmpty) }
    }

    @Test func `a user can't make client files without end`() async throws {
        let world = try await World("manyfiles")
        try await world.fixture.postgres.execute(
            """
            with numbered as (
                update partita.realm_partitions set next_file = next_file + 10000
                where app = $1 and partition = $2 returning next_file)
            insert into partita.realm_files (app, partition, file, salt, user_id)
            select $1, $2, next_file - n, 1, 'mallory' from numbered, generate_series(1, 10000) n
            """, [.text(world.app), .text(world.partition.text)])
        let client = RealmClient("mallory", in: world.partition, of: world.fixture, app: world.app)
        try await client.connect()
        await #expect(throws: (any Error).self) { try await client.begin() }
        #expect(client.file == nil)
        // Others aren't concerned, and the user's devices neither.
        let other = RealmClient("ann", in: world.partition, of: world.fixture, app: world.app)
        try await other.open()
        world.mallory.cut()
        try await world.mallory.open()
        #expect(world.mallory.errors.isEmpty)
    }
}

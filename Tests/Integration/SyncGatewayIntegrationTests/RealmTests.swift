import DocumentModel
import DocumentStore
import EventTopics
import RealmSync
import RealmTestClient
import SyncEngine
import TestSupport
import Testing

/// Clients with the Realm SDKs: the second front of the gateway.
@Suite struct RealmTests {
    private func key(_ id: String) -> ObjectKey { ObjectKey(table: "ChatMessage", id: .string(ExactText(id))) }

    private func text(_ partition: Partition) -> String { String(partition.text.dropFirst(2)) }

    private func message(_ text: String, in partition: Partition) -> Document {
        ["partition": .string(self.text(partition)), "text": .string(text), "timestamp": .date(1000)]
    }

    private func messages(_ fixture: GatewayFixture) -> DocumentCollection {
        fixture.store.collection("ChatMessage", database: "RChat", app: GatewayFixture.app)
    }

    private func document(_ id: String, _ fixture: GatewayFixture) async throws -> Document? {
        try await messages(fixture).findOne(["_id": .string(id)])
    }

    @Test func `Realm clients, a device and the server see each other's changes`() async throws {
        let fixture = try await GatewayFixture.shared()
        let partition = fixture.partition(), a = partition.text + "/a", b = partition.text + "/b"
        for user in ["ann", "bob", "cem"] { try await fixture.grant(.write, to: user, in: partition) }
        var first = message("before", in: partition)
        first["_id"] = .string(a)
        _ = try await messages(fixture).insertOne(first)

        let ann = RealmClient("ann", in: partition, of: fixture), bob = RealmClient("bob", in: partition, of: fixture)
        try await ann.open()
        try await bob.open()
        #expect(ann.objects.objects[key(a)]?["text"] == "before")
        #expect(ann.objects.schema.classes["ChatMessage"]?.properties["text"]?.type == .string)
        let device = try await fixture.device("cem")
        _ = try await device.open(partition)

        // A client's object becomes a document, and comes to the others.
        try ann.write((key(b), message("by ann", in: partition)))
        try await ann.upload()
        let stored = try await document(b, fixture)
        #expect(stored?["text"] == "by ann" && stored?["partition"] == .string(text(partition)))
        #expect(stored?["location"] == .array([]) && stored?["author"] == nil)
        try await bob.receive { $0.objects.objects[key(b)] != nil }
        #expect(bob.objects.objects[key(b)]?["text"] == "by ann")
        let download = try await device.download()
        #expect(download.changes.last?.id == .string(b))

        // The server's changes come to the clients.
        _ = try await messages(fixture).updateOne(
            ["_id": .string(b)], ["$set": ["text": "by the server", "image": ["_id": "photo"]]])
        try await ann.receive { $0.objects.objects[key(b)]?["text"] == "by the server" }
        #expect(ann.objects.objects[key(b)]?["image"] == ["_id": "photo"])
        _ = try await messages(fixture).deleteOne(["_id": .string(a)])
        try await ann.receive { $0.objects.objects[key(a)] == nil }
        try await bob.receive { $0.objects.objects[key(a)] == nil && $0.objects.objects[key(b)]?["image"] != nil }

        // A client erases an object.
        try bob.write((key(b), nil))
        try await bob.upload()
        #expect(try await document(b, fixture) == nil)
        try await ann.receive { $0.objects.objects.isEmpty }
    }

    @Test func `concurrent changes of an object converge`() async throws {
        let fixture = try await GatewayFixture.shared()
        let partition = fixture.partition(), id = partition.text + "/a"
        for user in ["ann", "bob"] { try await fixture.grant(.write, to: user, in: partition) }
        let ann = RealmClient("ann", in: partition, of: fixture), bob = RealmClient("bob", in: partition, of: fixture)
        try await ann.open()
        var object = message("new", in: partition)
        object["location"] = [1.5, 2.5]
        try ann.write((key(id), object))
        try await ann.upload()
        try await bob.open()

        // Both, without knowing of each other, and the server between them.
        object["text"] = "by ann"
        object["location"] = [0.5, 1.5, 2.5]
        try ann.write((key(id), object))
        object = bob.objects.objects[key(id)] ?? [:]
        object["text"] = "by bob"
        object["location"] = [1.5, 2.5, 3.5]
        bob.advanceClock(by: 1000)
        try bob.write((key(id), object))
        try await bob.upload()
        _ = try await messages(fixture).updateOne(["_id": .string(id)], ["$set": ["author": "the server"]])
        try await ann.upload()
        try await ann.catchUp()
        try await bob.catchUp()

        let expected = ann.objects.objects[key(id)]
        #expect(expected?["text"] == "by bob" && expected?["author"] == "the server")
        #expect(expected?["location"] == [0.5, 1.5, 2.5, 3.5])
        #expect(bob.objects.isSame(as: ann.objects))
        let stored = try await document(id, fixture)
        #expect(stored?["text"] == "by bob" && stored?["author"] == "the server")
        #expect(stored?["location"] == [0.5, 1.5, 2.5, 3.5])
    }

    @Test func `what was sent twice counts once, also through cuts`() async throws {
        let fixture = try await GatewayFixture.shared()
        let partition = fixture.partition(), user = ObjectKey(table: "User", id: .string("u\(partition.text)"))
        try await fixture.grant(.write, to: "ann", in: partition)
        let ann = RealmClient("ann", in: partition, of: fixture)
        try await ann.open()
        let conversation: Value = ["id": "c", "unreadCount": .int64(0), "members": []]
        try ann.write(
            (user, ["partition": .string(text(partition)), "userName": "ann", "conversations": [conversation]]))
        try await ann.upload()
        for number in 1...5 {
            var changeset = RealmSync.Changeset()
            func name(_ text: String) -> InternString { changeset.strings.intern(Array(text.utf8)) }
            let path = Path(
                table: name("User"), key: .string(name("u\(partition.text)")), field: name("conversations"),
                elements: [.index(0), .key(name("unreadCount"))])
            changeset.instructions = [.edit(path, .addInteger(1))]
            try ann.apply(changeset)
            ann.sendPending()
            // Without waiting for the answer; from the third on, the same once more before the cut.
            if number > 2 { try await ann.upload() }
            ann.cut()
            try await ann.connect()
            try await ann.begin()
            try await ann.upload()
        }
        try await ann.catchUp()
        let stored = try await fixture.store.collection("User", database: "RChat", app: GatewayFixture.app)
            .findOne(["_id": .string("u\(partition.text)")])
        let count = stored?["conversations"]?.arrayValue?.first?.documentValue?["unreadCount"]
        #expect(count?.int64Value == 5)
        #expect(
            ann.objects.objects[user]?["conversations"]?.arrayValue?.first?.documentValue?["unreadCount"]?.int64Value
                == 5)
    }

    @Test func `additions to a number that another writer changes meanwhile all count`() async throws {
        let fixture = try await GatewayFixture.shared()
        let app = "additions", partition = fixture.partition()
        try await RecordedApp.deploy(app, to: fixture)
        for user in ["ann", "bob"] { try await fixture.grant(.write, to: user, in: partition, app: app) }
        let ann = RealmClient("ann", in: partition, of: fixture, app: app)
        let bob = RealmClient("bob", in: partition, of: fixture, app: app)
        try await RecordedApp.open(ann)
        try await bob.open()
        let person = ObjectKey(table: "Person", id: .string(ExactText("p \(partition.text)")))
        try ann.write((person, ["visits": 1, "addr": ["street": "a", "geo": ["lat": 1.0, "lon": 1.0, "hits": 5]]]))
        try await ann.upload()
        try await bob.catchUp()
        let people = fixture.store.collection("Person", database: "chat", app: app)
        func add(_ number: Int64, _ field: String, _ steps: String...) throws {
            var changeset = RealmSync.Changeset()
            func name(_ text: String) -> InternString { changeset.strings.intern(Array(text.utf8)) }
            guard case .string(let id) = person.id else { return }
            let path = Path(
                table: name("Person"), key: .string(name(id.text)), field: name(field),
                elements: steps.map { .key(name($0)) })
            changeset.instructions = [.edit(path, .addInteger(number)), .edit(path, .addInteger(number))]
            try ann.apply(changeset)
        }
        // Ann adds while she is offline, and the server does later, before she uploads.
        ann.cut()
        try add(2, "visits")
        try add(3, "addr", "geo", "hits")
        _ = try await people.updateOne(
            ["_id": person.id.value],
            ["$inc": ["visits": .int64(10), "addr.geo.hits": .int64(100)], "$set": ["book": [:]]])
        try await bob.receive { $0.objects.objects[person]?["visits"] == 11 }
        try await ann.connect()
        try await ann.begin()
        try await ann.upload()
        for client in [ann, bob] {
            try await client.receive { $0.objects.objects[person]?["visits"] == 15 }
            #expect(client.objects.objects[person]?["addr"]?["geo"]?["hits"] == 111)
            #expect(client.errors.isEmpty)
        }
        let document = try await people.findOne(["_id": person.id.value])
        #expect(document?["visits"] == 15 && document?["addr"]?["geo"]?["hits"] == 111)
        // What she has added before she sets the number herself isn't added to a later value of the server.
        ann.cut()
        try add(2, "visits")
        var own = try #require(ann.objects.objects[person])
        own["visits"] = 0
        try ann.write((person, own))
        _ = try await people.updateOne(["_id": person.id.value], ["$set": ["visits": .int64(10)]])
        try await bob.receive { $0.objects.objects[person]?["visits"] == 10 }
        try await ann.connect()
        try await ann.begin()
        try await ann.upload()
        for client in [ann, bob] {
            try await client.catchUp()
            #expect(client.objects.objects[person]?["visits"] == 10 && client.errors.isEmpty)
        }
        #expect(ann.objects.isSame(as: bob.objects))
        #expect(try await people.findOne(["_id": person.id.value])?["visits"] == 10)
        // A later value of another client wins over an earlier addition, as with realm-core.
        ann.cut()
        try add(2, "visits")
        bob.advanceClock(by: 1_000_000)
        try bob.write(
            (
                person,
                {
                    var object = bob.objects.objects[person] ?? [:]; object["visits"] = 50; return object
                }()
            ))
        try await bob.upload()
        try await ann.connect()
        try await ann.begin()
        try await ann.upload()
        for client in [ann, bob] {
            try await client.catchUp()
            #expect(client.objects.objects[person]?["visits"] == 50)
        }
    }

    @Test func `fields that a class doesn't have stay also in embedded objects of lists and dictionaries`() async throws
    {
        let fixture = try await GatewayFixture.shared()
        let app = "otherfields", partition = fixture.partition()
        try await RecordedApp.deploy(app, to: fixture)
        try await fixture.grant(.write, to: "ann", in: partition, app: app)
        let ann = RealmClient("ann", in: partition, of: fixture, app: app)
        try await RecordedApp.open(ann)
        let person = ObjectKey(table: "Person", id: .string(ExactText("p \(partition.text)")))
        func write(_ addrs: [String], _ book: [(String, String)]) async throws -> Document {
            let entries = Document(fields: book.map { .init($0, ["street": .string($1)]) })
            try ann.write(
                (person, ["addrs": .array(addrs.map { ["street": .string($0)] }), "book": .document(entries)]))
            try await ann.upload()
            return try #require(
                try await fixture.store.collection("Person", database: "chat", app: app).findOne([
                    "_id": person.id.value
                ]))
        }
        func streets(_ document: Document) -> [String?] {
            document["addrs"]?.arrayValue?.map { $0["street"]?.stringValue } ?? []
        }
        func vats(_ document: Document) -> [Value?] { document["addrs"]?.arrayValue?.map { $0["vat"] } ?? [] }
        _ = try await write(["a", "b"], [("home", "c"), ("work", "d")])
        _ = try await fixture.store.collection("Person", database: "chat", app: app).updateOne(
            ["_id": person.id.value], ["$set": ["addrs.0.vat": 1, "addrs.1.vat": 2, "book.home.vat": 3]])
        try await ann.catchUp()

        _ = try await write(["x", "b"], [("home", "c"), ("work", "d")])
        let changed = try await write(["x", "b", "new"], [("away", "e"), ("home", "y")])
        #expect(streets(changed) == ["x", "b", "new"] && vats(changed) == [1, 2, nil], "\(changed)")
        #expect(changed["book"]?["home"]?["street"] == "y" && changed["book"]?["home"]?["vat"] == 3, "\(changed)")
        #expect(changed["book"]?["away"]?["street"] == "e" && changed["book"]?["work"] == nil, "\(changed)")
        // Whose they are isn't known when elements have moved.
        let moved = try await write(["b", "new"], [("home", "y")])
        #expect(streets(moved) == ["b", "new"] && vats(moved) == [nil, nil], "\(moved)")
        #expect(moved["book"]?["home"]?["vat"] == 3)
        let bob = RealmClient("ann", in: partition, of: fixture, app: app)
        try await bob.open()
        #expect(bob.objects.isSame(as: ann.objects) && ann.errors.isEmpty)
    }

    /// What a client holds in the only set of dates by the edits of a history, with all parts of a millisecond.
    private func dates(
        in partition: Partition, _ fixture: GatewayFixture, isForOne: Bool = false
    ) async throws -> [RealmTimestamp] {
        let rows = try await fixture.postgres.query(
            """
            select bytes from partita.realm_history
            where partition = $1 and (audience is not null) = $2 and bytes <> '' order by version
            """, [.text(partition.text), .bool(isForOne)])
        var held: [RealmTimestamp] = []
        for row in rows {
            for case .edit(_, let edit) in try RealmSync.Changeset(row.decode(0, as: [UInt8].self)).instructions {
                switch edit {
                case .setInsert(.timestamp(let date)): if !held.contains(date) { held.append(date) }
                // Of what is sent to one client only, what it erases counts.
                case .setErase(.timestamp(let date)):
                    if isForOne { held.append(date) } else { held.removeAll { $0 == date } }
                default: break
                }
            }
        }
        return held
    }

    @Test func `all have the same dates in a set, also if they were inserted with parts of a millisecond`() async throws
    {
        let fixture = try await GatewayFixture.shared()
        let app = "exactdates", partition = fixture.partition(), box = ObjectKey(table: "Box", id: .int(1))
        try await RecordedApp.deploy(app, to: fixture) {
            $0.replacing(
                #""uniqueItems": true, "items": {"bsonType": "long"}"#,
                with: #""uniqueItems": true, "items": {"bsonType": "date"}"#)
        }
        for user in ["ann", "bob"] { try await fixture.grant(.write, to: user, in: partition, app: app) }
        try await fixture.grant(.read, to: "cem", in: partition, app: app)
        let ann = RealmClient("ann", in: partition, of: fixture, app: app)
        try await RecordedApp.open(ann)
        let exact = RealmTimestamp(seconds: 1, nanoseconds: 1)
        func edit(_ edits: Edit..., by client: RealmClient) async throws {
            var changeset = RealmSync.Changeset()
            func name(_ text: String) -> InternString { changeset.strings.intern(Array(text.utf8)) }
            let path = Path(table: name("Box"), key: .int(1), field: name("si"))
            changeset.instructions = edits.map { .edit(path, $0) }
            try client.apply(changeset)
            try await client.upload()
            try await client.catchUp()
        }
        func document() async throws -> Document? {
            try await fixture.store.collection("Box", database: "chat", app: app).findOne(["_id": .int64(1)])
        }
        try ann.write((box, [:]))
        try await edit(.setInsert(.timestamp(exact)), by: ann)
        #expect(try await document()?["si"] == [.date(1000)])
        #expect(try await dates(in: partition, fixture) == [RealmTimestamp(milliseconds: 1000)])
        let bob = RealmClient("bob", in: partition, of: fixture, app: app)
        try await bob.open()
        try await edit(.setErase(.timestamp(RealmTimestamp(milliseconds: 1000))), by: bob)
        #expect(try await document()?["si"] == [])
        #expect(try await dates(in: partition, fixture) == [])
        // Inserted and erased at once.
        try await edit(.setInsert(.timestamp(exact)), .setErase(.timestamp(exact)), by: ann)
        #expect(try await document()?["si"] == [])
        #expect(try await dates(in: partition, fixture) == [])
        // What is refused is undone with all its parts.
        let cem = RealmClient("cem", in: partition, of: fixture, app: app)
        try await cem.open()
        try await edit(.setInsert(.timestamp(exact)), by: cem)
        #expect(cem.errors.count == 1 && cem.objects.isSame(as: bob.objects))
        #expect(try await dates(in: partition, fixture, isForOne: true).contains(exact))
        #expect(ann.errors.isEmpty && bob.errors.isEmpty)
    }

    @Test func `a client is told of a write that is undone also if it has lost its connection before`() async throws {
        let fixture = try await GatewayFixture.shared()
        let partition = fixture.partition(), id = partition.text + "/a"
        try await fixture.grant(.read, to: "ann", in: partition)
        let ann = RealmClient("ann", in: partition, of: fixture)
        try await ann.open()
        try ann.write((key(id), message("by ann", in: partition)))
        ann.sendPending()
        try await eventually("it is integrated") {
            try await fixture.postgres.query(
                "select refused from partita.realm_history where partition = $1 and refused is not null",
                [.text(partition.text)]
            ).count == 1
        }
        ann.cut()
        try await ann.connect()
        try await ann.begin()
        try await ann.upload()
        try await ann.catchUp()
        #expect(ann.errors.map { $0.numbers.first } == [231])
        #expect(ann.errors.first?.json["rejectedClientVersion"]?.intValue == 4)
        let update = ann.errors.first?.json["rejectedUpdates"]?.arrayValue?.first
        #expect(update?["table"] == "ChatMessage" && update?["reason"]?.stringValue?.contains("may not write") == true)
        #expect(ann.objects.objects.isEmpty)
    }

    /// A few bytes erase objects of any size, and to undo that takes as many bytes as they have.
    @Test func `refused writes of more than an upload's size aren't undone: the client begins anew`() async throws {
        let fixture = try await GatewayFixture.shared()
        let partition = fixture.partition()
        try await fixture.grant(.read, to: "ann", in: partition)
        let keys = (0..<9).map { key("\(partition.text)/\($0)") }
        for key in keys {
            var large = message(String(repeating: "x", count: 2 << 20), in: partition)
            large["_id"] = key.id.value
            _ = try await messages(fixture).insertOne(large)
        }
        let ann = RealmClient("ann", in: partition, of: fixture)
        try await ann.open()
        var objects = ann.objects
        try ann.apply(objects.change(keys.map { ($0, nil) }))
        ann.sendPending()
        var answer = try await ann.next()
        while answer.name == "download" {
            _ = try ann.edit { try $0.take(answer) }
            answer = try await ann.next()
        }
        #expect(answer.name == "json_error" && answer.json["action"] == "ClientReset")
        #expect(answer.json["message"]?.stringValue?.contains("16 MiB") == true)
        let undone = try await fixture.postgres.query(
            "select from partita.realm_history where partition = $1 and audience is not null", [.text(partition.text)])
        #expect(undone.isEmpty)
        #expect(try await messages(fixture).countDocuments(["partition": .string(text(partition))]) == 9)
    }

    @Test func `a write that isn't allowed is undone, and the session goes on`() async throws {
        let fixture = try await GatewayFixture.shared()
        let partition = fixture.partition(), id = partition.text + "/a"
        try await fixture.grant(.read, to: "ann", in: partition)
        try await fixture.grant(.write, to: "bob", in: partition)
        let ann = RealmClient("ann", in: partition, of: fixture), bob = RealmClient("bob", in: partition, of: fixture)
        try await bob.open()
        try bob.write((key(id), message("by bob", in: partition)))
        try await bob.upload()
        try await ann.open()
        try ann.write((key(id), message("by ann", in: partition)), (key(id + "2"), message("new", in: partition)))
        try await ann.upload()
        try await ann.catchUp()
        let error = try #require(ann.errors.first)
        #expect(error.numbers.first == 231 && error.json["action"] == "Warning")
        #expect(error.json["rejectedUpdates"]?.arrayValue?.count == 2)
        #expect(ann.objects.isSame(as: bob.objects))
        #expect(try await document(id, fixture)?["text"] == "by bob")
        #expect(try await document(id + "2", fixture) == nil)

        // What the collection's schema forbids is undone, too, and what is allowed beside it stays.
        let user = ObjectKey(table: "User", id: .string("v\(partition.text)"))
        try bob.write((user, ["partition": .string(text(partition))]))  // the name has a minimum length
        try bob.write((key(id + "3"), message("good", in: partition)))
        try bob.write((key(id + "4"), message("in another one", in: fixture.partition())))
        try await bob.upload()
        try await bob.catchUp()
        #expect(bob.errors.map { $0.numbers.first } == [231, 231])
        #expect(Set(bob.objects.objects.keys) == [key(id), key(id + "3")])
        #expect(try await document(id + "3", fixture)?["text"] == "good")
        #expect(try await document(id + "4", fixture) == nil)
        try await ann.catchUp()
        #expect(ann.objects.isSame(as: bob.objects))
    }

    @Test func `who may not read a partition is told so, also later`() async throws {
        let fixture = try await GatewayFixture.shared()
        let partition = fixture.partition()
        try await fixture.grant(.read, to: "ann", in: partition)
        let ann = RealmClient("ann", in: partition, of: fixture)
        try await ann.open()
        try await fixture.grant(.none, to: "ann", in: partition, version: 2)
        try await ann.receive { !$0.errors.isEmpty }
        #expect(ann.errors.first?.numbers.first == 206)
        ann.send("unbind 1")
        let other = fixture.partition(), bob = RealmClient("bob", in: other, of: fixture)
        try await bob.connect()
        let refused = Task { try await bob.begin() }
        try await fixture.deny("bob", other)
        await #expect(throws: RealmClient.Unexpected.self) { try await refused.value }
    }

    @Test func `thousands of objects in one transaction are committed together`() async throws {
        let fixture = try await GatewayFixture.shared()
        let partition = fixture.partition()
        try await fixture.grant(.write, to: "ann", in: partition)
        let ann = RealmClient("ann", in: partition, of: fixture)
        try await ann.open()
        let ids = (0..<3_000).map { key("\(partition.text)/\($0)") }
        var changes: [(key: ObjectKey, object: Document?)] = []
        for id in ids {
            var document = message("one of many", in: partition)
            document["_id"] = id.id.value
            changes.append(try ann.objects.schema.object(of: document, table: "ChatMessage"))
        }
        var objects = ann.objects
        try ann.apply(objects.change(changes))
        let time = try await ContinuousClock().measure { try await ann.upload() }
        #expect(time < .seconds(8), "\(time)")
        #expect(try await messages(fixture).countDocuments(["partition": .string(text(partition))]) == 3_000)
    }

    @Test func `what Postgres can't store is refused, and the next write is taken`() async throws {
        let fixture = try await GatewayFixture.shared()
        let partition = fixture.partition()
        try await fixture.grant(.write, to: "ann", in: partition)
        let ann = RealmClient("ann", in: partition, of: fixture)
        try await ann.open()
        try ann.write((key("a\0\(partition.text)"), message("bad", in: partition)))
        try ann.write((key("b\(partition.text)"), message("good", in: partition)))
        try await ann.upload()
        try await ann.catchUp()
        #expect(ann.errors.map { $0.numbers.first } == [231])
        #expect(Array(ann.objects.objects.keys) == [key("b\(partition.text)")])
        let nul = RealmClient("ann", in: Partition(text: "s:a\0"), of: fixture)
        try await nul.connect()
        nul.send("bind 2 4 0 1 0", [0x22, 0xFF, 0xFE, 0x22])
        nul.send("bind 3 8 0 1 0", Array("\"\\u0000\"".utf8))
        for _ in 0..<2 {
            let message = try await nul.next()
            #expect(message.name == "json_error" && message.numbers.first == 204)
        }
    }

    @Test func `a file is open in one session of a connection, and a range of versions is one of them`() async throws {
        let fixture = try await GatewayFixture.shared()
        let partition = fixture.partition()
        try await fixture.grant(.read, to: "ann", in: partition)
        let ann = RealmClient("ann", in: partition, of: fixture)
        try await ann.connect(protocols: "com.mongodb.realm-sync#2-14")
        try await ann.begin()
        try await ann.catchUp()
        let path = ExtendedJSON.print(partition.value ?? .null), file = try #require(ann.file)
        ann.send("bind 2 \(path.utf8.count) 0 0 0", Array(path.utf8))
        ann.send("ident 2 \(file.ident) \(file.salt) 0 0 0 0")
        try await ann.receive { !$0.errors.isEmpty }
        #expect(ann.errors.first?.numbers == [108, UInt64(ann.errors[0].body.count), 0])
    }

    @Test func `a link leads to an object of a class that there is`() async throws {
        let fixture = try await GatewayFixture.shared()
        let app = "links", partition = fixture.partition()
        try await RecordedApp.deploy(app, to: fixture)
        for user in ["ann", "bob"] { try await fixture.grant(.write, to: user, in: partition, app: app) }
        let bob = RealmClient("bob", in: partition, of: fixture, app: app)
        try await RecordedApp.open(bob)
        for (table, key) in [("Nothing", PrimaryKey.int(1)), ("Addr", .int(1)), ("Box", .objectId(ObjectId()))] {
            let ann = RealmClient("ann", in: partition, of: fixture, app: app)
            try await ann.open()
            let box = ObjectKey(table: "Box", id: .int(.random(in: 1...1_000_000)))
            try ann.write((box, [:]))
            try await ann.upload()
            // realm-core can't apply it; whoever gets it can't go on.
            var changeset = RealmSync.Changeset()
            func name(_ text: String) -> InternString { changeset.strings.intern(Array(text.utf8)) }
            guard case .int(let number) = box.id else { return }
            let path = Path(table: name("Box"), key: .int(number), field: name("m"))
            changeset.instructions = [.edit(path, .update(.link(table: name(table), key: key), isDefault: false))]
            try ann.commit(changeset)
            ann.sendPending()
            try await ann.receive { !$0.errors.isEmpty }
            #expect(ann.errors.first?.numbers.first == 212 && ann.errors.first?.json["action"] == "ClientReset")
        }
        try await bob.catchUp()
        #expect(bob.objects.objects.count == 3 && bob.objects.objects.values.allSatisfy { $0["m"] == nil })
    }

    @Test func `a client with a file or a history that the server doesn't have begins anew`() async throws {
        let fixture = try await GatewayFixture.shared()
        let partition = fixture.partition()
        try await fixture.grant(.write, to: "ann", in: partition)
        let ann = RealmClient("ann", in: partition, of: fixture)
        try await ann.open()
        ann.cut()
        try await fixture.postgres.execute(
            "update partita.realm_history set salt = salt - 1 where partition = $1", [.text(partition.text)])
        try await ann.connect()
        try await ann.begin()
        let error = try await ann.next()
        #expect(error.name == "json_error" && error.numbers.first == 211)
        #expect(error.json["action"] == "ClientReset" && error.json["shouldClientReset"] == true)
    }
}

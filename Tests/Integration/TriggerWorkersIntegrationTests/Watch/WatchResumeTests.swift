import DocumentModel
import EventLoop
import Secrets
import TestSupport
import Testing

/// Streams of changes that continue after an event of an earlier one.
@Suite struct WatchResumeTests {
    private static let rules = [
        "Note": #"{"roles": [{"name": "all", "apply_when": {}, "read": true, "write": true}]}"#
    ]

    private func after(_ change: Document, _ name: String = "resumeAfter") throws -> String {
        let token = try #require(change["_id"]?["_data"]?.stringValue)
        return #""\#(name)": {"_data": "\#(token)"}"#
    }

    /// The ids of the next changes, sorted, since those of different documents come in any order.
    private func ids(_ client: EventStreamClient, _ count: Int) async throws -> [Int] {
        var ids: [Int] = []
        for _ in 0..<count {
            ids.append(try #require(try await client.change()["documentKey"]?["_id"]?.intValue))
        }
        return ids.sorted()
    }

    @Test(arguments: ["resumeAfter", "startAfter"])
    func `a resumed stream has what was missed, once, and then what is new`(name: String) async throws {
        let app = TriggerApp(rules: Self.rules)
        let (fixture, token) = try await TriggersFixture.deployed(app)
        let notes = fixture.store.collection("Note", database: "Test", app: app.id)
        var last: Document = [:]
        do {
            let first = try await fixture.watch("Note", of: app, token: token("ann"))
            for n in 1...3 {
                _ = try await notes.insertOne(["_id": .int32(Int32(n))])
                last = try await first.change()
            }
        }
        for n in 4...9 { _ = try await notes.insertOne(["_id": .int32(Int32(n))]) }
        // By another user: what is resumed is subject to the rules of who resumes it.
        let second = try await fixture.watch("Note", try after(last, name), of: app, token: token("bob"))
        #expect(try await ids(second, 6) == Array(4...9))
        _ = try await notes.insertOne(["_id": 10])
        #expect(try await ids(second, 1) == [10])
        _ = try await notes.updateOne(["_id": 10], ["$set": ["n": 1]])
        #expect(try await second.change()["operationType"] == "update")
    }

    @Test func `a browser continues with the id of the last heartbeat`() async throws {
        let app = TriggerApp(rules: Self.rules)
        let (fixture, token) = try await TriggersFixture.deployed(app)
        let notes = fixture.store.collection("Note", database: "Test", app: app.id)
        let first = try await fixture.watch("Note", of: app, token: token("ann"))
        try await first.waitForComments(2)
        let id = try #require(await first.lastId)
        _ = try await notes.insertOne(["_id": 1])
        let second = try await fixture.watch("Note", of: app, token: token("ann"), lastId: id)
        #expect(try await ids(second, 1) == [1])
        let heartbeats = await second.comments
        try await second.waitForComments(heartbeats + 2)
        #expect(await second.lastId != id)
    }

    @Test func `streams that break again and again have each change of a document once, in order`() async throws {
        let app = TriggerApp(rules: Self.rules)
        let (fixture, token) = try await TriggersFixture.deployed(app)
        let worker = try await StoppableWorker(fixture.values)
        _ = try await fixture.watchSoon(app, user: "ann", port: worker.port)
        let notes = fixture.store.collection("Note", database: "Test", app: app.id)
        let (documents, rounds) = (20, 30)
        let first = try await fixture.watch("Note", of: app, token: token("ann"))
        _ = try await notes.insertMany((0..<documents).map { ["_id": .int32(Int32($0)), "n": 0] })
        #expect(try await ids(first, documents) == Array(0..<documents))
        let start = try #require(await first.lastId)
        let writer = Task {
            for round in 1...rounds {
                for id in 0..<documents {
                    _ = try await notes.updateOne(["_id": .int32(Int32(id))], ["$set": ["n": .int32(Int32(round))]])
                }
            }
        }
        try await withThrowingTaskGroup(of: Void.self) { group in
            for user in ["ann", "bob", "cid"] {
                group.addTask {
                    var (seen, id, count, turn) = ([Int](repeating: 0, count: documents), start, 0, 0)
                    var repeated = 0
                    while count < documents * rounds {
                        turn += 1
                        let (last, port) = (id, turn % 2 == 0 ? nil : worker.port)
                        // A stream that its client has left counts until the worker notices.
                        let client = try await eventually("the user may have another stream") {
                            do {
                                return try await fixture.watch(
                                    "Note", of: app, token: fixture.token(app, user: user), port: port, lastId: last)
                            } catch let error as EventStreamError where error.description.contains("429") {
                                return nil
                            }
                        }
                        for _ in 0..<min(Int.random(in: 1...60), documents * rounds - count) {
                            let change = try await client.change()
                            id = try #require(await client.lastId)
                            let document = try #require(change["documentKey"]?["_id"]?.intValue)
                            let n = try #require(
                                change["updateDescription"]?["updatedFields"]?["n"]?.intValue, "\(change)")
                            // The topic has a change twice when a broker's answer was lost; who continues between the two gets it again.
                            if n == seen[document] {
                                repeated += 1
                                continue
                            }
                            #expect(n == seen[document] + 1, "turn \(turn) of document \(document)")
                            seen[document] = n
                            count += 1
                        }
                    }
                    #expect(seen == [Int](repeating: rounds, count: documents))
                    #expect(repeated < 10)
                }
            }
            try await group.waitForAll()
        }
        try await writer.value
        try await worker.stop()
    }

    @Test func `a resumed client has more than its queue takes, and a slow one holds up nobody`() async throws {
        let app = TriggerApp(rules: Self.rules)
        let (fixture, token) = try await TriggersFixture.deployed(app)
        let notes = fixture.store.collection("Note", database: "Test", app: app.id)
        let first = try await fixture.watch("Note", of: app, token: token("ann"))
        try await first.waitForComments(2)
        let id = try #require(await first.lastId)
        let text = String(repeating: "x", count: 100_000)
        for n in 0..<60 { _ = try await notes.insertOne(["_id": .int32(Int32(n)), "text": .string(text)]) }
        func readQuickly(_ user: String) async throws {
            let quick = try await fixture.watch("Note", of: app, token: token(user), lastId: id)
            #expect(try await ids(quick, 60) == Array(0..<60))
        }
        // Then all are in the topic: what comes to a slow client after it has caught up doesn't wait for it.
        try await readQuickly("bob")
        let slow = try await fixture.watch("Note", of: app, token: token("ann"), receiveBuffer: 4096, lastId: id)
        try await readQuickly("cid")
        #expect(try await ids(slow, 60) == Array(0..<60))
    }

    @Test func `a stream that can't be resumed says so`() async throws {
        let app = TriggerApp(rules: Self.rules)
        let (fixture, token) = try await TriggersFixture.deployed(app)
        let notes = fixture.store.collection("Note", database: "Test", app: app.id)
        let first = try await fixture.watch("Note", of: app, token: token("ann"))
        _ = try await notes.insertOne(["_id": 1])
        _ = try await first.change()
        let id = try #require(await first.lastId)
        let sealer = TokenSealer(
            KeyRing([TriggersFixture.keySecret, TriggersFixture.formerKeySecret]), purpose: "watch")
        let place = try #require(sealer.open(id))
        func end(_ bytes: [UInt8]) async throws -> String? {
            let client = try await fixture.watch("Note", of: app, token: token("ann"), lastId: sealer.seal(bytes))
            let code = try await client.endCode()
            // A browser that connects again begins with the present.
            #expect(await client.lastId == "")
            return code
        }
        // The byte after the version is the epoch, after it comes the time, which has six bytes, and then the offsets.
        #expect(place[0] == 1 && place[1] == 1 && place[6] & 0x80 != 0 && place[7] & 0x80 == 0)
        var other = place
        other[1] = 2
        #expect(try await end(other) == "ChangeStreamHistoryLost", "another epoch")
        #expect(try await end(place + [0]) == "ChangeStreamHistoryLost", "another number of partitions")
        let far: [UInt8] = [0xFF, 0xFF, 0xFF, 0x7F]
        let partitions = place.dropFirst(8).count { $0 & 0x80 == 0 }
        let beyond = Array(place[..<8]) + (0..<partitions).flatMap { _ in far }
        #expect(try await end(beyond) == "ChangeStreamHistoryLost", "after the end of the topic")
        // As if the topic had been made anew since: the message before the position is younger than the position.
        other = place
        other.replaceSubrange(2..<8, with: [0x80, 0x80, 0x80, 0x80, 0x80, 0x01])
        #expect(try await end(other) == "ChangeStreamHistoryLost", "a younger topic")
        let present = try await fixture.watch("Note", of: app, token: token("ann"), lastId: "")
        try await present.waitForComments(2)
        // The former key still opens tokens, another purpose's and a foreign one don't.
        let former = TokenSealer(KeyRing([TriggersFixture.formerKeySecret]), purpose: "watch").seal(place)
        _ = try await notes.insertOne(["_id": 2])
        let resumed = try await fixture.watch("Note", of: app, token: token("ann"), lastId: former)
        #expect(try await ids(resumed, 1) == [2])
        for foreign in [
            TokenSealer(KeyRing([TriggersFixture.keySecret]), purpose: "other"), TokenSealer(.empty, purpose: "watch"),
        ] {
            let call = TriggersFixture.watchCall("Note", #""resumeAfter": {"_data": "\#(foreign.seal(place))"}"#)
            let refused = try await fixture.refusedWatch(
                TriggersFixture.watchTarget(app, call: call), token: token("ann"))
            #expect(refused.status == 400 && refused.code == "MongoDBError")
        }
    }

    @Test func `limits of a worker's streams hold`() async throws {
        let app = TriggerApp(rules: Self.rules)
        let (fixture, token) = try await TriggersFixture.deployed(app)
        var values = fixture.values
        values["watch.resume-messages"] = "5"
        values["watch.app-streams"] = "5"
        values["watch.streams"] = "4"
        let worker = try await StoppableWorker(values)
        let port = worker.port
        let first = try await fixture.watchSoon(app, user: "ann", port: port)
        try await first.waitForComments(2)
        let id = try #require(await first.lastId)
        let notes = fixture.store.collection("Note", database: "Test", app: app.id)
        for n in 0..<10 { _ = try await notes.insertOne(["_id": .int32(Int32(n))]) }
        let late = try await fixture.watch("Note", of: app, token: token("bob"), port: port, lastId: id)
        #expect(try await late.endCode() == "ChangeStreamHistoryLost")
        var clients = [first]
        for user in ["bob", "cid"] {
            // The ended stream counts for a while.
            clients.append(try await fixture.watchSoon(app, user: user, port: port))
        }
        await #expect(throws: EventStreamError.self, "an address has three of five") {
            try await fixture.watch("Note", of: app, token: token("dan"), port: port)
        }
        let other = TriggerApp(rules: Self.rules)
        try await fixture.deploy(other)
        clients.append(try await fixture.watchSoon(other, port: port))
        let third = TriggerApp(rules: Self.rules)
        try await fixture.deploy(third)
        try await eventually("the worker knows the third app, and has four streams") {
            do {
                _ = try await fixture.watch("Note", of: third, token: fixture.token(third), port: port)
                Issue.record("a worker has four")
                return true
            } catch let error as EventStreamError {
                return error.description.contains("429")
            }
        }
        clients = []
        try await worker.stop()
    }

    @Test func `streams for which most waits end when a worker's memory is used up`() async throws {
        let app = TriggerApp(rules: Self.rules)
        let (fixture, token) = try await TriggersFixture.deployed(app)
        let worker = try await StoppableWorker(
            fixture.values.merging(["watch.memory": "1MiB", "watch.window": "64MiB"]) { $1 })
        let quick = try await fixture.watchSoon(app, user: "bob", port: worker.port)
        let slow = try await fixture.watch(
            "Note", of: app, token: token("ann"), port: worker.port, receiveBuffer: 4096)
        let notes = fixture.store.collection("Note", database: "Test", app: app.id)
        let text = String(repeating: "x", count: 100_000)
        for n in 0..<150 {
            _ = try await notes.insertOne(["_id": .int32(Int32(n)), "text": .string(text)])
            #expect(try await quick.change()["documentKey"] == ["_id": .int32(Int32(n))])
        }
        #expect(try await slow.endCode() == "ReadSizeLimitExceeded")
        try await worker.stop()
    }
}

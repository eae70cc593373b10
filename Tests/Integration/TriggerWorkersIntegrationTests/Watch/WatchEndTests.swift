import AppRegistry
import DocumentModel
import EventTopics
import Foundation
import Metrics
import TestSupport
import Testing
import TriggerWorkers

/// How streams of changes are refused and end.
@Suite struct WatchEndTests {
    private static let rules = [
        "Note": #"{"roles": [{"name": "all", "apply_when": {}, "read": true, "write": true}]}"#
    ]

    @Test func `a stream that can't be opened is refused with a code`() async throws {
        let app = TriggerApp(rules: Self.rules)
        let (fixture, token) = try await TriggersFixture.deployed(app)
        let bearer = try await token("ann")
        func target(_ call: String) -> String { TriggersFixture.watchTarget(app, call: call) }
        func watch(_ more: String) -> String { target(TriggersFixture.watchCall("Note", more)) }
        let path = "/api/client/v2.0/app/\(app.id)/functions/call"
        let call = #""service": "mongodb-atlas", "arguments""#
        let refusals: [(target: String, status: Int, code: String)] = [
            (path, 400, "MissingParameter"),
            (path + "?baas_request=%21%21", 400, "BadRequest"),
            (path + "?baas_request=bm90IGpzb24%3D", 400, "BadRequest"),
            (target("{}"), 400, "MissingParameter"),
            (target(#"{"name": "known", "arguments": []}"#), 400, "NotCallable"),
            (target(#"{"name": "find", \#(call): [{}]}"#), 400, "ServiceCommandNotFound"),
            (target(#"{"name": "watch", "service": "none", "arguments": [{}]}"#), 404, "ServiceNotFound"),
            (target(#"{"name": "watch", \#(call): []}"#), 400, "ArgumentsNotAllowed"),
            (target(#"{"name": "watch", \#(call): [{"database": "Test"}]}"#), 400, "MongoDBError"),
            (target(TriggersFixture.watchCall("Unknown")), 403, "NoMatchingRuleFound"),
            (watch(#""ids": 1"#), 400, "MongoDBError"),
            (watch(#""filter": []"#), 400, "MongoDBError"),
            (watch(#""filter": {"$text": {"$search": "x"}}"#), 400, "MongoDBError"),
            (watch(#""filter": {"$where": "true"}"#), 400, "MongoDBError"),
            (watch(#""filter": {"a": {"$no": 1}}"#), 400, "MongoDBError"),
            (watch(#""useCompactEvents": true"#), 400, "MongoDBError"),
            (watch(#""pipeline": []"#), 400, "MongoDBError"),
            (watch(#""resumeAfter": 1"#), 400, "MongoDBError"),
            (watch(#""resumeAfter": {}"#), 400, "MongoDBError"),
            (watch(#""resumeAfter": {"_data": "A"}, "startAfter": {"_data": "A"}"#), 400, "MongoDBError"),
            (watch(#""startAfter": {"_data": "AAAA"}"#), 400, "MongoDBError"),
            (watch(#""startAtOperationTime": {"$timestamp": {"t": 1, "i": 1}}"#), 400, "MongoDBError"),
        ]
        for refusal in refusals {
            let answer = try await fixture.refusedWatch(refusal.target, token: bearer)
            #expect(answer.status == refusal.status, "\(refusal)")
            #expect(answer.code == refusal.code, "\(refusal)")
        }
        let unknown = try await fixture.refusedWatch(watch(""), token: nil)
        #expect(unknown.status == 401 && unknown.code == "InvalidSession")
        let old = try await fixture.refusedWatch(watch(""), token: try fixture.token(app, lifetime: -600))
        #expect(old.status == 401 && old.code == "InvalidSession")
        let none = try await fixture.refusedWatch("/api/client/v2.0/app/none/functions/call", token: bearer)
        #expect(none.status == 404 && none.code == "AppNotFound")
    }

    @Test func `a user has a number of streams, and closed ones don't count`() async throws {
        let app = TriggerApp(rules: Self.rules)
        let (fixture, token) = try await TriggersFixture.deployed(app)
        let bearer = try await token("ann")
        let target = TriggersFixture.watchTarget(app, call: TriggersFixture.watchCall("Note"))
        do {
            var clients: [EventStreamClient] = []
            for _ in 0..<5 { clients.append(try await fixture.watch("Note", of: app, token: bearer)) }
            let refused = try await fixture.refusedWatch(target, token: bearer)
            #expect(refused.status == 429 && refused.code == "TooManyRequests")
            let other = try await fixture.watch("Note", of: app, token: token("bob"))
            clients.append(other)
        }
        try await eventually("the closed streams are gone") {
            do {
                _ = try await fixture.watch("Note", of: app, token: bearer)
                return true
            } catch is EventStreamError {
                return false
            }
        }
    }

    @Test func `a filter that takes long ends its stream, and holds up nobody`() async throws {
        let app = TriggerApp(rules: Self.rules)
        let (fixture, token) = try await TriggersFixture.deployed(app)
        let sum = #"{"$reduce": {"input": {"$range": [0, 900000]}, "initialValue": 0, "in": {"$add": ["$$value", 1]}}}"#
        let filter = #""filter": {"$expr": {"$gt": [{"$add": [\#(sum), \#(sum), \#(sum)]}, -1]}}"#
        var heavy: [EventStreamClient] = []
        for _ in 0..<5 { heavy.append(try await fixture.watch("Note", filter, of: app, token: token("ann"))) }
        let bob = try await fixture.watch(
            "Note", #""filter": {"operationType": "insert"}"#, of: app, token: token("bob"))
        let start = ContinuousClock.now
        let notes = fixture.store.collection("Note", database: "Test", app: app.id)
        _ = try await notes.insertOne(["_id": 1])
        #expect(try await bob.change()["documentKey"] == ["_id": 1])
        for client in heavy { #expect(try await client.endCode() == "MongoDBError") }
        #expect(ContinuousClock.now - start < .seconds(10))
    }

    @Test func `events are numbered by nothing that others could count`() async throws {
        let app = TriggerApp(rules: Self.rules)
        let (fixture, token) = try await TriggersFixture.deployed(app)
        let client = try await fixture.watch("Note", of: app, token: token("ann"))
        let notes = fixture.store.collection("Note", database: "Test", app: app.id)
        var tokens: [[UInt8]] = []
        for number in 0..<4 {
            _ = try await notes.insertOne(["_id": .int32(Int32(number))])
            let text = try #require(try await client.change()["_id"]?["_data"]?.stringValue)
            tokens.append(Array(try #require(Data(base64Encoded: text))))
        }
        // Of random bytes, one in 256 is equal.
        for (a, b) in zip(tokens, tokens.dropFirst()) {
            #expect(zip(a, b).count { $0 == $1 } < 10, "\(tokens)")
        }
    }

    @Test func `a stream ends with its token`() async throws {
        let app = TriggerApp(rules: Self.rules)
        let (fixture, _) = try await TriggersFixture.deployed(app)
        let client = try await fixture.watch("Note", of: app, token: try fixture.token(app, lifetime: 3))
        #expect(try await client.endCode() == "InvalidSession")
    }

    @Test func `a stream without changes has comments`() async throws {
        let app = TriggerApp(rules: Self.rules)
        let (fixture, token) = try await TriggersFixture.deployed(app)
        let client = try await fixture.watch("Note", of: app, token: token("ann"))
        try await client.waitForComments(3)
    }

    @Test(arguments: [(AuthEvent.Kind.userDisabled, "UserDisabled"), (.userDeleted, "InvalidSession")])
    func `the streams of a user who is shut out end`(kind: AuthEvent.Kind, code: String) async throws {
        let app = TriggerApp(rules: Self.rules)
        let (fixture, token) = try await TriggersFixture.deployed(app)
        let ann = try await fixture.watch("Note", of: app, token: token("ann"))
        let bob = try await fixture.watch("Note", of: app, token: token("bob"))
        try await fixture.tell(kind, of: "ann", app: app)
        #expect(try await ann.endCode() == code)
        _ = try await fixture.store.collection("Note", database: "Test", app: app.id).insertOne(["_id": 1])
        #expect(try await bob.change()["documentKey"] == ["_id": 1])
    }

    @Test func `the streams of an ended session end`() async throws {
        let app = TriggerApp(rules: Self.rules)
        let (fixture, _) = try await TriggersFixture.deployed(app)
        let session = ObjectId().hexString
        let client = try await fixture.watch("Note", of: app, token: try fixture.token(app, session: session))
        try await fixture.end(session, of: "ann", app: app)
        #expect(try await client.endCode() == "InvalidSession")
    }

    @Test func `the streams of an app end with its version, and with the app`() async throws {
        var app = TriggerApp(rules: Self.rules)
        let (fixture, token) = try await TriggersFixture.deployed(app)
        let bearer = try await token("ann")
        let first = try await fixture.watch("Note", of: app, token: bearer)
        app.rules["Note"] = #"{"roles": [{"name": "none", "apply_when": {}, "read": false}]}"#
        try await AppRegistry.announce(try await fixture.deployUnannounced(app), with: fixture.events)
        #expect(try await first.endCode() == "MaintenanceInProgress")
        let second = try await fixture.watch("Note", of: app, token: bearer)
        #expect(try await fixture.registry.remove(app.id))
        #expect(try await second.endCode() == "AppNotFound")
    }

    @Test func `a client that doesn't read loses its stream, and no other is delayed`() async throws {
        let app = TriggerApp(rules: Self.rules)
        let (fixture, token) = try await TriggersFixture.deployed(app)
        let slow = try await fixture.watch("Note", of: app, token: token("ann"), receiveBuffer: 4096)
        let quick = try await fixture.watch("Note", of: app, token: token("bob"))
        let notes = fixture.store.collection("Note", database: "Test", app: app.id)
        // More than the sockets' buffers, the stream's window and that of the queue.
        let text = String(repeating: "x", count: 600_000)
        for n in 0..<25 {
            _ = try await notes.insertOne(["_id": .int32(Int32(n)), "text": .string(text)])
            #expect(try await quick.change()["documentKey"] == ["_id": .int32(Int32(n))])
        }
        #expect(try await slow.endCode() == "ReadSizeLimitExceeded")
    }

    @Test func `a worker that stops ends its streams first`() async throws {
        let app = TriggerApp(rules: Self.rules)
        let (fixture, _) = try await TriggersFixture.deployed(app)
        let worker = try await StoppableWorker(fixture.values)
        let client = try await fixture.watchSoon(app, port: worker.port)
        let start = ContinuousClock.now
        let stopped = Task { try await worker.stop() }
        #expect(try await client.endCode() == "MaintenanceInProgress")
        try await stopped.value
        // Its consumers may have joined their groups just now, and have no partitions yet.
        #expect(ContinuousClock.now - start < .seconds(30))
    }
}

import DocumentModel
import DocumentStore
import EventLoop
import RealmMessages
import RealmSync
import RealmTestClient
import SyncEngine
import TestSupport
import Testing
import WebSocket

/// What a client meets at the edges of the protocol.
@Suite struct RealmConnectionTests {
    private func key(_ partition: Partition, _ name: String) -> ObjectKey {
        ObjectKey(table: "ChatMessage", id: .string("\(partition.text)/\(name)"))
    }

    private func message(_ text: String, in partition: Partition) -> Document {
        ["partition": partition.value ?? .null, "text": .string(text)]
    }

    @Test(arguments: [17, 20, 40])
    func `an upload beyond the limit makes the client begin anew, however large it is`(megabytes: Int) async throws {
        let fixture = try await GatewayFixture.shared(), partition = fixture.partition()
        try await fixture.grant(.write, to: "ann", in: partition)
        let ann = RealmClient("ann", in: partition, of: fixture)
        try await ann.open()
        let bytes = [UInt8](repeating: 7, count: megabytes << 20)
        ann.send("upload 1 0 \(bytes.count) 0 1 1 1", bytes)
        #expect(try await ann.end().code == .messageTooBig)
    }

    @Test func `a client is told so also if it has read only a part of a download`() async throws {
        let fixture = try await GatewayFixture.shared(), partition = fixture.partition()
        try await fixture.grant(.write, to: "ann", in: partition)
        let ann = RealmClient("ann", in: partition, of: fixture)
        try await ann.open()
        for number in 0..<24 {
            // It can't be compressed much.
            let text = (0..<20_000).map { _ in String(UInt64.random(in: .min ... .max), radix: 36) }.joined()
            try ann.write((key(partition, "\(number)"), message(text, in: partition)))
            try await ann.upload()
        }
        // On a busy machine heartbeats of permissions may be late: then the gateway resets connections for which it holds data.
        // How long they are late is up to the machine, so the tries end by time.
        let start = ContinuousClock.now
        var ends: [WebSocketClosure] = []
        while ends.last?.code != .messageTooBig, .now - start < .seconds(30) {
            let busy = RealmClient("ann", in: partition, of: fixture)
            try await busy.connect()
            try await busy.begin()
            _ = try await busy.next()
            busy.pauseReading()
            let bytes = [UInt8](repeating: 7, count: 20 << 20)
            busy.send("upload 1 0 \(bytes.count) 0 1 1 1", bytes)
            // More than the buffers between them hold. Not all of it: once nothing moves, the gateway waits for five seconds only.
            busy.resumeReading(whenQueued: 8 << 20)
            ends.append(try await busy.end())
        }
        #expect(ends.last?.code == .messageTooBig, "\(ends)")
    }

    @Test func `uploads before a bad one that come with it are kept`() async throws {
        let fixture = try await GatewayFixture.shared(), partition = fixture.partition()
        for user in ["ann", "bob"] { try await fixture.grant(.write, to: user, in: partition) }
        let ann = RealmClient("ann", in: partition, of: fixture), bob = RealmClient("bob", in: partition, of: fixture)
        try await ann.open()
        for number in 0..<3 { try ann.write((key(partition, "\(number)"), message("good", in: partition))) }
        ann.sendPending()
        ann.send("upload 1 1 100 5 9 1 1", Array("zlib?".utf8))
        try await ann.receive { !$0.errors.isEmpty }
        #expect(ann.errors.first?.numbers.first == 212 && ann.pending.isEmpty)
        try await bob.open()
        #expect(bob.objects.objects.count == 3)
    }

    @Test func `a client that closes the connection is answered`() async throws {
        let fixture = try await GatewayFixture.shared(), partition = fixture.partition()
        try await fixture.grant(.write, to: "ann", in: partition)
        let ann = RealmClient("ann", in: partition, of: fixture)
        try await ann.open()
        ann.close()
        #expect(try await ann.end().code == .normal)
    }

    @Test func `a partition's name that is too long ends only its session`() async throws {
        let fixture = try await GatewayFixture.shared(), partition = fixture.partition()
        try await fixture.grant(.write, to: "ann", in: partition)
        let ann = RealmClient("ann", in: partition, of: fixture)
        try await ann.open()
        for size in [1_025, 20_000] {
            let path = Array("\"\(String(repeating: "a", count: size))\"".utf8)
            ann.send("bind 2 \(path.count) 0 1 0", path)
            let error = try await ann.next()
            #expect(error.numbers.first == 204 && error.numbers.last == 2)
            ann.send("unbind 2")
        }
        try ann.write((key(partition, "a"), message("goes on", in: partition)))
        try await ann.upload()
    }

    @Test func `a client that can't go on with a session is answered when it ends it`() async throws {
        let fixture = try await GatewayFixture.shared(), partition = fixture.partition()
        try await fixture.grant(.write, to: "ann", in: partition)
        let ann = RealmClient("ann", in: partition, of: fixture)
        try await ann.open()
        let complaint = Array(#"{"message":"bad changeset"}"#.utf8)
        ann.send("json_error 212 \(complaint.count) 1", complaint)
        ann.send("unbind 1")
        #expect(try await ann.next().name == "unbound")
    }

    /// Versions before 5 have no number for a write that is undone. Their clients get the undoing like all others, and a reset to know of it.
    @Test(arguments: [2, 3, 4, 5])
    func `a client of any protocol gets to know of a refused write, and goes on`(version: Int) async throws {
        let fixture = try await GatewayFixture.shared(), partition = fixture.partition()
        try await fixture.grant(.read, to: "ann", in: partition)
        let ann = RealmClient("ann", in: partition, of: fixture)
        func connect() async throws {
            try await ann.connect(protocols: "com.mongodb.realm-sync#\(version)")
            try await ann.begin()
            try await ann.catchUp()
        }
        try await connect()
        try ann.write((key(partition, "a"), message("by ann", in: partition)))
        ann.sendPending()
        var error: RealmMessage?
        while error == nil || !ann.pending.isEmpty {
            let message = try await ann.next()
            if message.name == "download" {
                _ = try ann.edit { try $0.take(message) }
            } else {
                error = message
            }
        }
        #expect(error?.name == (version < 4 ? "error" : "json_error"))
        #expect(error?.numbers.first == (version < 5 ? 211 : 231))
        #expect(error.map { String(decoding: $0.body, as: UTF8.self).contains("may not write") } == true)
        if version == 4 { #expect(error?.json["action"] == "ClientReset") }
        #expect(ann.objects.objects.isEmpty)
        ann.cut()
        try await connect()
        #expect(ann.errors.isEmpty && ann.objects.objects.isEmpty)
    }

    @Test func `each download says how many bytes remain`() async throws {
        let fixture = try await GatewayFixture.shared(), partition = fixture.partition()
        for user in ["ann", "bob"] { try await fixture.grant(.write, to: user, in: partition) }
        let ann = RealmClient("ann", in: partition, of: fixture), bob = RealmClient("bob", in: partition, of: fixture)
        try await ann.open()
        try await bob.open()
        bob.cut()
        for number in 0..<10 {
            let text = String(repeating: "\(number)", count: 300_000)
            try ann.write((key(partition, "\(number)"), message(text, in: partition)))
            try await ann.upload()
        }
        // One that was away gets the history, a new one a snapshot.
        for client in [bob, RealmClient("bob", in: partition, of: fixture)] {
            try await client.connect()
            try await client.begin()
            let before = client.receivedBytes
            var remaining: [Int] = [], received: [Int] = []
            while client.objects.objects.count < 10 {
                let message = try await client.next()
                try #require(message.name == "download")
                _ = try client.edit { try $0.take(message) }
                remaining.append(Int(message.numbers[7]))
                received.append(client.receivedBytes - before)
            }
            #expect(remaining.count >= 3 && remaining.last == 0, "\(remaining)")
            let total = try #require(received.last)
            for (left, had) in zip(remaining, received) { #expect(left + had == total, "\(remaining) \(received)") }
        }
    }
}

import DocumentModel
import PartitaClient
import SQLite
import SyncEngine
import TestSupport
import Testing

struct SyncTests {
    @Test func `what one device writes reaches another, live`() async throws {
        try await ClientFixture.with { fixture in
            let first = try await fixture.session("phone").openPartition("room=1", waitForFirstSync: true)
            let second = try await fixture.session("tablet").openPartition("room=1", waitForFirstSync: true)
            var snapshots = try await second.observe("Message", ["text": ["$exists": true]]).makeAsyncIterator()
            #expect(await snapshots.next()?.documents.isEmpty == true)

            try await first.write { $0.insert("Message", ["_id": "m1", "room": "room=1", "text": "hello"]) }
            let snapshot = await snapshots.next()
            #expect(snapshot?.inserted == [["_id": "m1", "room": "room=1", "text": "hello"]])

            try await second.write { $0.update("Message", id: "m1", ["$set": ["text": "changed"]]) }
            try await eventually("first has the change") {
                try await first.document("Message", id: "m1")?["text"] == "changed"
            }
            try await first.write { $0.delete("Message", id: "m1") }
            try await eventually("the document is gone") { try await second.find("Message").isEmpty }
        }
    }

    @Test func `what is written offline is shown at once and uploaded later`() async throws {
        try await ClientFixture.with { fixture in
            let session = try await fixture.session("phone")
            let room = try await session.openPartition("room=1", waitForFirstSync: true)
            await session.goOffline()
            try await room.write { $0.insert("Message", ["_id": "m1", "room": "room=1", "count": 1]) }
            try await room.write { $0.update("Message", id: "m1", ["$inc": ["count": 1]]) }
            #expect(try await room.document("Message", id: "m1")?["count"] == 2)
            #expect(try await room.pending().count == 2)
            #expect(await fixture.backend.documents.isEmpty)

            await session.goOnline()
            try await room.waitForUploads()
            try await eventually("nothing waits") { try await room.pending().isEmpty }
            #expect(try await room.document("Message", id: "m1")?["count"] == 2)
        }
    }

    @Test func `a lost acknowledgement applies nothing twice`() async throws {
        try await ClientFixture.with { fixture in
            let room = try await fixture.session("phone").openPartition("room=1", waitForFirstSync: true)
            await fixture.backend.set(losesAnswers: true)
            try await room.write { $0.insert("Message", ["_id": "m1", "room": "room=1", "count": 0]) }
            for _ in 0..<5 { try await room.write { $0.update("Message", id: "m1", ["$inc": ["count": 1]]) } }
            try await eventually("the counter is 5") {
                let documents = await fixture.backend.documents
                return documents.values.first?.document["count"] == 5
            }
            await fixture.backend.dropConnections()
            await fixture.backend.set(losesAnswers: false)
            try await room.waitForUploads()
            try await eventually("nothing waits") { try await room.pending().isEmpty }
            #expect(try await room.document("Message", id: "m1")?["count"] == 5)
        }
    }

    @Test func `a restart finds documents, pending writes and the session again, offline`() async throws {
        try await ClientFixture.with { fixture in
            let app = try await fixture.app("phone")
            let session = try await app.logIn(.emailPassword(email: "ada", password: "secret"))
            let room = try await session.openPartition("room=1", waitForFirstSync: true)
            try await room.write { $0.insert("Message", ["_id": "m1", "room": "room=1", "text": "kept"]) }
            try await room.waitForUploads()
            await fixture.backend.set(isDown: true)
            try await room.write { $0.update("Message", id: "m1", ["$set": ["text": "later"]]) }
            try await app.close()

            let again = try #require(try await fixture.app("phone").session())
            #expect(again.userId == "ada")
            let reopened = try await again.openPartition("room=1")
            #expect(try await reopened.document("Message", id: "m1")?["text"] == "later")
            await fixture.backend.set(isDown: false)
            await again.goOnline()
            try await reopened.waitForUploads()
            let stored = await fixture.backend.documents.values.first
            #expect(stored?.document["text"] == "later")
        }
    }

    @Test func `a device that lost a document gets it back, and asks again a day later only`() async throws {
        try await ClientFixture.with { fixture in
            let app = try await fixture.app("phone")
            let room = try await app.logIn(.emailPassword(email: "ada", password: "secret"))
                .openPartition("room=1", waitForFirstSync: true)
            for id in ["m1", "m2"] as [Value] {
                try await room.write { $0.insert("Message", ["_id": id, "room": "room=1"]) }
            }
            try await room.waitForUploads()
            try await eventually("nothing waits") { try await room.pending().isEmpty }
            try await app.close()
            let store = try await SQLiteDatabase.open(path: try fixture.store(of: "phone"))
            #expect(try await store.execute("DELETE FROM documents WHERE id = 's:m2'", []) == 1)
            await store.close()

            let again = try await fixture.app("phone")
            let session = try #require(try await again.session())
            let reopened = try await session.openPartition("room=1")
            #expect(try await reopened.find("Message").map { $0["_id"] } == ["m1"])
            await session.goOnline()
            try await eventually("two documents came") { try await reopened.find("Message").count == 2 }
            #expect(await fixture.backend.comparisons == [ClientFixture.partition: .different])
            await session.goOffline()
            await session.goOnline()
            try await eventually("no comparison") { await fixture.backend.comparisons.isEmpty }
            try await again.close()
        }
    }

    @Test func `a catch-up in chunks becomes visible as a whole`() async throws {
        try await ClientFixture.with { fixture in
            for number in 1...35 as ClosedRange<Int64> {
                let operation = Operation(
                    collection: "Message", id: .int64(number),
                    kind: .insert(["_id": .int64(number), "room": "room=1", "n": .int64(number)]))
                await fixture.backend.write(
                    Changeset(version: number, clock: HybridTime(milliseconds: number), operations: [operation]),
                    device: "other", in: ClientFixture.partition)
            }
            let session = try await fixture.session("phone")
            let room = try await session.openPartition("room=1")
            var snapshots = try await room.observe("Message").makeAsyncIterator()
            var counts: Set<Int> = []
            while let snapshot = await snapshots.next() {
                counts.insert(snapshot.documents.count)
                if snapshot.documents.count == 35 { break }
            }
            #expect(counts.isSubset(of: [0, 35]))
            #expect(try await room.find("Message", ["n": ["$gt": 30]]).count == 5)
        }
    }

    @Test func `a rejected changeset is listed and blocks nothing behind it`() async throws {
        try await ClientFixture.with { fixture in
            let session = try await fixture.session("phone")
            var events = await session.events().makeAsyncIterator()
            let room = try await session.openPartition("room=1", waitForFirstSync: true)
            try await room.write { $0.insert("Message", ["_id": "bad", "room": "room=1", "forbidden": true]) }
            try await room.write { $0.insert("Message", ["_id": "good", "room": "room=1"]) }
            try await room.waitForUploads()
            #expect(try await room.find("Message") == [["_id": "good", "room": "room=1"]])
            let rejected = try await room.rejected()
            #expect(rejected.map(\.reason.code) == [.schemaViolation])
            guard case .rejected(_, version: 1, let reason)? = await events.next() else {
                Issue.record("no event")
                return
            }
            #expect(reason.path == "forbidden")

            try await room.retry(try #require(rejected.first))
            try await eventually("the third is rejected") { try await room.rejected().first?.changeset.version == 3 }
            try await room.discard(try #require(try await room.rejected().first))
            #expect(try await room.rejected().isEmpty)
        }
    }

    @Test func `a revocation removes the partition's data from the device`() async throws {
        try await ClientFixture.with { fixture in
            let session = try await fixture.session("phone")
            let room = try await session.openPartition("room=1", waitForFirstSync: true)
            let other = try await session.openPartition("room=2", waitForFirstSync: true)
            try await room.write { $0.insert("Message", ["_id": "m1", "room": "room=1"]) }
            try await other.write { $0.insert("Message", ["_id": "m2", "room": "room=2"]) }
            try await room.waitForUploads()
            await fixture.backend.forbid(ClientFixture.partition)
            await #expect(throws: PartitaError.self) {
                for await state in try await room.states() where state.revoked != nil {
                    _ = try await room.find("Message")
                }
            }
            #expect(try await other.find("Message").count == 1)
            // Opened again, it is refused again, without the former data.
            let again = try await session.openPartition("room=1")
            let error = await #expect(throws: PartitaError.self) { try await again.waitForFirstSync() }
            #expect(error?.code == .revoked)
        }
    }

    @Test func `a partition beyond the limit is told as refused, and served when another is closed`() async throws {
        try await ClientFixture.with { fixture in
            await fixture.backend.set(most: 2)
            let session = try await fixture.session("phone")
            let first = try await session.openPartition("room=1", waitForFirstSync: true)
            let second = try await session.openPartition("room=2", waitForFirstSync: true)
            let third = try await session.openPartition("room=3")
            do {
                try await third.waitForFirstSync()
                Issue.record("it was served")
            } catch let error as PartitaError {
                #expect(error.code == .refused)
                #expect(error.serverCode == "tooManySubscriptions")
            }
            try await third.write { $0.insert("Message", ["_id": "m3", "room": "room=3"]) }
            try await first.write { $0.insert("Message", ["_id": "m1", "room": "room=1"]) }
            try await first.waitForUploads()  // the connection goes on

            // Those that were opened first are served after a reconnection, too.
            await fixture.backend.dropConnections()
            try await eventually("it is refused") {
                var states = try await third.states().makeAsyncIterator()
                return await states.next()?.refusal != nil
            }
            try await second.waitForAnswer()

            await first.close()
            try await eventually("it is subscribed") {
                var states = try await third.states().makeAsyncIterator()
                return await states.next()?.isSubscribed == true
            }
            try await third.waitForUploads()
        }
    }

    @Test func `a device restored from a backup takes a new id, and loses and duplicates nothing`() async throws {
        try await ClientFixture.with { fixture in
            func write(_ count: Int) async throws {
                let app = try await fixture.app("phone")
                let session = try await app.logIn(.emailPassword(email: "ada", password: "secret"))
                await session.goOffline()
                let room = try await session.openPartition("room=1")
                for _ in 0..<count {
                    try await room.write {
                        $0.insert("Message", ["_id": "m1", "room": "room=1", "kept": true])
                        $0.update("Message", id: "m1", ["$inc": ["count": 1]])
                    }
                }
                await session.goOnline()
                try await room.waitForUploads()
                try await app.close()
            }
            try await write(2)
            try fixture.saveDevice("phone")
            try await write(3)
            try fixture.restoreDevice("phone")
            // Fewer writes than the server got after the backup are noticed when the partition is opened, more by their contents.
            try await write(1)
            try await write(1)
            try fixture.restoreDevice("phone")
            try await write(5)
            let stored = await fixture.backend.documents.values.first
            #expect(stored?.document["count"] == 12)
            #expect(await Set(fixture.backend.hellos.map(\.device)).count == 3)
        }
    }

    @Test func `a write that is larger than a frame may be delays no other`() async throws {
        try await ClientFixture.with { fixture in
            await fixture.backend.set(frameBytes: 2000)
            let room = try await fixture.session("phone").openPartition("room=1", waitForFirstSync: true)
            try await room.write {
                $0.insert(
                    "Message", ["_id": "big", "room": "room=1", "text": .string(String(repeating: "a", count: 2000))])
            }
            try await room.write { $0.insert("Message", ["_id": "good", "room": "room=1"]) }
            try await room.waitForUploads()
            #expect(try await room.rejected().map(\.reason.code) == [.documentTooLarge])
            #expect(await fixture.backend.documents.count == 1)
        }
    }

    @Test func `a write that crashes the gateway is given up, and no other with it`() async throws {
        try await ClientFixture.with { fixture in
            await fixture.backend.set(fatal: "fatal")
            let session = try await fixture.session("phone")
            let room = try await session.openPartition("room=1", waitForFirstSync: true)
            let other = try await session.openPartition("room=2", waitForFirstSync: true)
            await session.goOffline()
            for id in ["before", "fatal", "after"] {
                try await room.write { $0.insert("Message", ["_id": .string(id), "room": "room=1"]) }
            }
            for number in 0..<20 {
                try await other.write { $0.insert("Message", ["_id": .int32(Int32(number)), "room": "room=2"]) }
            }
            await session.goOnline()

            try await eventually("one is rejected") { try await room.rejected().count == 1 }
            let rejected = try await room.rejected()
            #expect(rejected.first?.reason.code == .undeliverable)
            #expect(rejected.first?.changeset.operations.first?.id == "fatal")
            // At least as many times as the reason says, the first times together with others; more if this machine held the client up
            // between a connection and the upload, for then the end of the connection doesn't count.
            #expect(await fixture.backend.deaths >= DevicePartition.lossLimit)
            try await room.waitForUploads()
            try await other.waitForUploads()
            let stored = await fixture.backend.documents
            let keys = ["before", "after"].compactMap { DocumentKey(collection: "Message", id: .string($0)) }
            #expect(Set(stored.keys) == Set(keys))
            #expect(try await other.rejected().isEmpty)
            #expect(try await other.find("Message").count == 20)
        }
    }

    @Test func `a write over which connections are lost later is kept, and others are uploaded while it waits`()
        async throws
    {
        try await ClientFixture.with { fixture in
            await fixture.backend.set(fatal: "large", after: .milliseconds(500))
            let session = try await fixture.session("phone")
            let room = try await session.openPartition("room=1", waitForFirstSync: true)
            let other = try await session.openPartition("room=2", waitForFirstSync: true)
            try await room.write { $0.insert("Message", ["_id": "large", "room": "room=1"]) }
            // The third was the first upload of a suspect: the fourth one waits.
            try await eventually("three connections end") { await fixture.backend.deaths == 3 }
            for number: Int32 in 0..<5 {
                try await other.write { $0.insert("Message", ["_id": .int32(number), "room": "room=2"]) }
                try await other.waitForUploads()
            }
            #expect(try await room.pending().count == 1)
            await fixture.backend.set(fatal: nil)
            try await room.waitForUploads()
            #expect(try await room.rejected().isEmpty)
        }
    }

    @Test func `a write that can't be applied is refused at once, as a whole`() async throws {
        try await ClientFixture.with { fixture in
            let room = try await fixture.session("phone").openPartition("room=1")
            let error = await #expect(throws: PartitaError.self) {
                try await room.write {
                    $0.insert("Message", ["_id": "m1", "room": "room=1", "text": "a"])
                    $0.update("Message", id: "m1", ["$inc": ["text": 1]])
                }
            }
            #expect(error?.code == .badWrite)
            #expect(try await room.find("Message").isEmpty)
            #expect(try await room.pending().isEmpty)
        }
    }

    @Test func `a write that the server couldn't read is refused at once`() async throws {
        try await ClientFixture.with { fixture in
            let room = try await fixture.session("phone").openPartition("room=1")
            let deep = (0..<99).reduce(Value.document(["a": 1])) { inner, _ in ["a": inner] }
            try await room.write {
                $0.insert("Message", ["_id": "m", "room": "room=1", "x": ["b": 1, "c": "never"], "list": []])
            }
            for document: Document in [["x": ["$date": "never"]], ["x": ["b": 1, "$oid": 1]], ["x": deep]] {
                let error = await #expect(throws: PartitaError.self) {
                    try await room.write {
                        $0.insert(
                            "Message", Document(fields: [.init("_id", "n"), .init("room", "room=1")] + document.fields))
                    }
                }
                #expect(error?.code == .badWrite, "\(document)")
            }
            for update: Document in [
                ["$set": ["x.$date": 1]], ["$rename": ["x.c": "x.$numberInt"]], ["$push": ["list": ["$minKey": 1]]],
                ["$pull": ["list": ["$date": "never"]]], ["$set": ["x.y": deep]],
            ] {
                let error = await #expect(throws: PartitaError.self) {
                    try await room.write { $0.update("Message", id: "m", update) }
                }
                #expect(error?.code == .badWrite, "\(update)")
            }
            #expect(try await room.find("Message").count == 1)
        }
    }
}

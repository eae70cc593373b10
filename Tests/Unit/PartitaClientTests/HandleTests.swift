import DocumentModel
import PartitaClient
import SyncEngine
import SyncProtocol
import TestSupport
import Testing

/// Mistakes that an app may make with handles of partitions, and what it is told.
struct HandleTests {
    /// The error of a call that has to fail.
    private func error(of call: () async throws -> Void) async -> PartitaError? {
        do {
            try await call()
            Issue.record("it didn't fail")
            return nil
        } catch {
            return error as? PartitaError
        }
    }

    @Test func `what can't be sent is refused on the device, and disturbs nothing`() async throws {
        try await ClientFixture.with { fixture in
            let session = try await fixture.session("phone")
            let room = try await session.openPartition("room=1", waitForFirstSync: true)
            for value in ["room=\u{0}", String(repeating: "r", count: 1023)] {
                let failure = await error { _ = try await session.openPartition(.string(value)) }
                #expect(failure?.code == .badPartition)
            }
            _ = try await session.openPartition(.string(String(repeating: "r", count: 1022)), waitForFirstSync: true)
            for collection in ["", String(repeating: "c", count: 257)] {
                let failure = await error {
                    try await room.write { $0.insert(collection, ["_id": "m", "room": "room=1"]) }
                }
                #expect(failure?.code == .badWrite)
            }
            #expect(try await room.pending().isEmpty)
            try await room.write { $0.insert("Message", ["_id": "m1", "room": "room=1"]) }
            try await room.waitForUploads()
        }
    }

    @Test func `a write that the server couldn't parse is refused, and so is such a presence`() async throws {
        try await ClientFixture.with { fixture in
            let session = try await fixture.session("phone")
            let room = try await session.openPartition("room=1", waitForFirstSync: true)
            let twice = Document(fields: [
                .init("_id", "m"), .init("room", "room=1"), .init("text", "a"), .init("text", "b"),
            ])
            let list = Value.array(Array(repeating: 1, count: 1000))
            let many = (0..<1001).map { number -> Document in
                ["_id": .int32(Int32(number)), "room": "room=1", "list": list]
            }
            for documents in [[twice], many] {
                let failure = await error {
                    try await room.write { for document in documents { $0.insert("Message", document) } }
                }
                #expect(failure?.code == .badWrite)
            }
            let failures = [
                await error { try await session.setPresence("") },
                await error { try await session.setPresence(String(repeating: "s", count: 257)) },
                await error {
                    try await session.setPresence("here", data: ["x": .string(String(repeating: "d", count: 5000))])
                },
                await error { _ = try await session.observePresence(of: [""]) },
            ]
            #expect(failures.map(\.?.code) == [.badPresence, .badPresence, .badPresence, .badPresence])
            #expect(try await room.pending().isEmpty)
            try await room.write { $0.insert("Message", ["_id": "m1", "room": "room=1"]) }
            try await room.waitForUploads()
        }
    }

    @Test func `who waits is told that the user has to sign in again`() async throws {
        try await ClientFixture.with { fixture in
            let session = try await fixture.session("phone")
            let room = try await session.openPartition("room=1", waitForFirstSync: true)
            await fixture.backend.set(hasEndedSessions: true)
            await fixture.backend.refuseAll(with: .sessionEnded)
            try await room.write { $0.insert("Message", ["_id": "m1", "room": "room=1"]) }
            let waiting = await error { try await room.waitForUploads() }
            let opening = await error { _ = try await session.openPartition("room=2", waitForFirstSync: true) }
            #expect(waiting?.code == .signedOut && opening?.code == .signedOut)
        }
    }

    @Test func `a partition whose opening fails isn't open`() async throws {
        try await ClientFixture.with { fixture in
            await fixture.backend.set(most: 1)
            await fixture.backend.forbid(Partition(text: "s:room=0"))
            let session = try await fixture.session("phone")
            let refused = await error { _ = try await session.openPartition("room=0", waitForFirstSync: true) }
            #expect(refused?.code == .revoked)
            let first = try await session.openPartition("room=1", waitForFirstSync: true)
            for _ in 0..<3 {
                let failure = await error { _ = try await session.openPartition("room=2", waitForFirstSync: true) }
                #expect(failure?.serverCode == "tooManySubscriptions")
            }
            let opening = Task { try await session.openPartition("room=3", waitForFirstSync: true) }
            opening.cancel()
            _ = await opening.result
            await first.close()
            _ = try await session.openPartition("room=4", waitForFirstSync: true)
        }
    }

    @Test func `a handle that is closed twice closes no other`() async throws {
        try await ClientFixture.with { fixture in
            let session = try await fixture.session("phone")
            let first = try await session.openPartition("room=1", waitForFirstSync: true)
            let second = try await session.openPartition("room=1")
            await first.close()
            await first.close()
            let failure = await error { _ = try await first.find("Message") }
            #expect(failure?.code == .closed)
            try await second.write { $0.insert("Message", ["_id": "m1", "room": "room=1"]) }
            try await second.waitForUploads()
        }
    }

    @Test func `a session that has ended says so`() async throws {
        try await ClientFixture.with { fixture in
            let app = try await fixture.app("phone")
            let session = try await app.logIn(.emailPassword(email: "ada", password: "secret"))
            let room = try await session.openPartition("room=1", waitForFirstSync: true)
            try await app.close()
            let failures = [
                await error { _ = try await session.openPartition("room=1") },
                await error { _ = try await room.find("Message") }, await error { _ = try await room.rejected() },
                await error { try await room.waitForFirstSync() },
            ]
            #expect(failures.map(\.?.code) == [.closed, .closed, .closed, .closed])
            await room.close()
        }
    }

    @Test func `a rejected changeset is written again only once`() async throws {
        try await ClientFixture.with { fixture in
            let session = try await fixture.session("phone")
            let room = try await session.openPartition("room=1", waitForFirstSync: true)
            try await room.write { $0.insert("Message", ["_id": "m1", "room": "room=1", "forbidden": true]) }
            try await eventually("one is rejected") { try await room.rejected().count == 1 }
            let rejected = try await room.rejected()[0]
            let first = try await room.retry(rejected), second = try await room.retry(rejected)
            #expect(first != nil && second == nil)
        }
    }

    @Test func `streams of an ended session end`() async throws {
        try await ClientFixture.with { fixture in
            let app = try await fixture.app("phone")
            let session = try await app.logIn(.emailPassword(email: "ada", password: "secret"))
            try await app.close()
            for await _ in await session.events() {}
            for await _ in await session.connectionStates() {}
            for await _ in try await session.observePresence(of: ["bob"]) {}
        }
    }

    @Test func `who waits is told that the server has ended the connection for good`() async throws {
        try await ClientFixture.with { fixture in
            let session = try await fixture.session("phone")
            let room = try await session.openPartition("room=1", waitForFirstSync: true)
            await fixture.backend.refuseAll(with: .unknownApp)
            try await eventually("it is refused") {
                var states = try await room.states().makeAsyncIterator()
                return await states.next()?.refusal?.serverCode == "unknownApp"
            }
            try await room.write { $0.insert("Message", ["_id": "m1", "room": "room=1"]) }
            let failure = await error { try await room.waitForUploads() }
            #expect(failure?.code == .refused && failure?.serverCode == "unknownApp")
            await session.goOnline()
            try await room.waitForUploads()
        }
    }
}

import DocumentModel
import Foundation
import PartitaClient
import SyncEngine
import TestSupport
import Testing

struct AccountTests {
    @Test func `a wrong password is refused with the backend's error`() async throws {
        try await ClientFixture.with { fixture in
            let app = try await fixture.app("phone")
            try await app.register(email: "ada", password: "secret")
            let error = await #expect(throws: PartitaError.self) {
                try await app.logIn(.emailPassword(email: "ada", password: "guess"))
            }
            #expect(error?.code == .refused)
            #expect(error?.serverCode == "InvalidPassword")
            #expect(try await app.session() == nil)
        }
    }

    @Test func `an access token that is about to expire is renewed before it is used`() async throws {
        try await ClientFixture.with { fixture in
            await fixture.backend.set(tokenLife: 5)
            let session = try await fixture.session("phone")
            #expect(try await session.callFunction("f") == [1, 2])
            #expect(await fixture.backend.refreshes > 0)
        }
    }

    /// The time that a session lasts begins anew with each new refresh token.
    @Test func `the newest refresh token is used, also after a restart`() async throws {
        try await ClientFixture.with { fixture in
            await fixture.backend.set(tokenLife: 5)
            for _ in 0..<3 {
                let app = try await fixture.app("phone")
                var session = try await app.session()
                if session == nil { session = try await app.logIn(.emailPassword(email: "ada", password: "secret")) }
                for _ in 0..<3 {
                    let result = try await session?.callFunction("f")
                    #expect(result == [1, 2])
                }
                try await app.close()
            }
            #expect(await fixture.backend.refreshes >= 3)
        }
    }

    @Test func `signing out ends a refresh that is under way, and nothing brings the session back`() async throws {
        try await ClientFixture.with { fixture in
            await fixture.backend.set(tokenLife: 5)
            let (began, begin) = AsyncStream.makeStream(of: Void.self)
            await fixture.backend.set(atRefresh: {
                begin.yield()
                // As a transport, which ends a call that is cancelled.
                try await Task.sleep(for: .seconds(60))
            })
            let app = try await fixture.app("phone")
            let session = try await app.logIn(.emailPassword(email: "ada", password: "secret"))
            let call = Task { try await session.callFunction("f") }
            for await _ in began { break }
            let start = ContinuousClock.now
            try await app.logOut()
            #expect(ContinuousClock.now - start < .seconds(30))
            let ended = await #expect(throws: PartitaError.self) { try await call.value }
            #expect(ended?.code == .closed)
            await fixture.backend.set(atRefresh: {})
            let late = await #expect(throws: PartitaError.self) { try await session.callFunction("f") }
            #expect(late?.code == .closed)
            #expect(try await app.session() == nil)
            #expect(try await fixture.app("phone").session() == nil)
        }
    }

    @Test func `who signs in gets their own session, whoever asks for the session meanwhile`() async throws {
        try await ClientFixture.with { fixture in
            let app = try await fixture.app("phone")
            for round in 0..<20 {
                let user = round % 2 == 0 ? "ada" : "bob"
                let former = try await app.session()
                let states = await former?.connectionStates()
                let reader = Task {
                    // Ends with the session.
                    if let states { for await _ in states {} }
                    return try await app.session()?.userId
                }
                let session = try await app.logIn(.emailPassword(email: user, password: "secret"))
                #expect(session.userId == user)
                let seen = try await reader.value
                #expect(seen == user || former == nil)
                #expect(try await app.session()?.userId == user)
            }
            try await app.logOut()
            #expect(try await app.session() == nil)
        }
    }

    @Test func `a session that has ended on the server signs the device out`() async throws {
        try await ClientFixture.with { fixture in
            await fixture.backend.set(tokenLife: 5)
            await fixture.backend.set(hasEndedSessions: true)
            let session = try await fixture.session("phone")
            for await state in await session.connectionStates() where state == .signedOut { break }
            let error = await #expect(throws: PartitaError.self) { try await session.callFunction("f") }
            #expect(error?.code == .signedOut)
        }
    }

    @Test func `signing out removes the user's data`() async throws {
        try await ClientFixture.with { fixture in
            let app = try await fixture.app("phone")
            let session = try await app.logIn(.emailPassword(email: "ada", password: "secret"))
            let room = try await session.openPartition("room=1", waitForFirstSync: true)
            try await room.write { $0.insert("Message", ["_id": "m1", "room": "room=1"]) }
            try await app.logOut()
            #expect(try await app.session() == nil)
            #expect(await fixture.backend.calls.last == "DELETE /auth/session")

            await fixture.backend.set(isDown: true)
            await fixture.backend.set(isDown: false)
            let next = try await app.logIn(.emailPassword(email: "bob", password: "secret"))
            let other = try await next.openPartition("room=2", waitForFirstSync: true)
            #expect(try await other.find("Message").isEmpty)
        }
    }

    @Test func `a user whose data on the device is damaged can sign out`() async throws {
        try await ClientFixture.with { fixture in
            let app = try await fixture.app("phone")
            let session = try await app.logIn(.emailPassword(email: "ada", password: "secret"))
            _ = try await session.openPartition("room=1", waitForFirstSync: true)
            try await app.close()
            let file = try fixture.store(of: "phone")
            try Data(repeating: 0x55, count: 8192).write(to: URL(filePath: file))
            let damaged = await #expect(throws: PartitaError.self) { try await app.session() }
            #expect(damaged?.code == .store)
            try await app.logOut()
            #expect(try await app.session() == nil)
            #expect(await fixture.backend.calls.last == "DELETE /auth/session")
            let again = try await app.logIn(.emailPassword(email: "ada", password: "secret"))
            _ = try await again.openPartition("room=1", waitForFirstSync: true)
        }
    }

    @Test func `signing out removes the data even if the server takes long to answer`() async throws {
        try await ClientFixture.with { fixture in
            let app = try await fixture.app("phone")
            let session = try await app.logIn(.emailPassword(email: "ada", password: "secret"))
            _ = try await session.openPartition("room=1", waitForFirstSync: true)
            let file = fixture.folder.appending(path: "phone/chat-ada.sqlite").path()
            #expect(FileManager.default.fileExists(atPath: file))
            await fixture.backend.set(atLogOut: { #expect(!FileManager.default.fileExists(atPath: file)) })
            try await app.logOut()
            #expect(await fixture.backend.calls.last == "DELETE /auth/session")
        }
    }

    @Test func `a stream of presence has its own users, and the end of the last one is told`() async throws {
        try await ClientFixture.with { fixture in
            let session = try await fixture.session("phone")
            var bobs = try await session.observePresence(of: ["bob"]).makeAsyncIterator()
            var others: Optional = try await session.observePresence(of: ["cleo", "dan"]).makeAsyncIterator()
            try await session.setPresence("away")
            var seen: [String?] = []
            for _ in 0..<2 { seen.append(await others?.next()?.user) }
            #expect(!seen.contains("bob"))
            #expect(await bobs.next()?.user == "bob")
            others = nil
            try await eventually("bob is watched") { await fixture.backend.watched == ["bob"] }
        }
    }

    @Test func `the presence of watched users is received`() async throws {
        try await ClientFixture.with { fixture in
            let session = try await fixture.session("phone")
            var reports = try await session.observePresence(of: ["bob"]).makeAsyncIterator()
            try await session.setPresence("away")
            #expect(await reports.next()?.user == "bob")
        }
    }
}

import DocumentModel
import Foundation
import PartitaClient
import SyncEngine
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

    @Test func `the presence of watched users is received`() async throws {
        try await ClientFixture.with { fixture in
            let session = try await fixture.session("phone")
            var reports = try await session.observePresence(of: ["bob"]).makeAsyncIterator()
            try await session.setPresence("away")
            #expect(await reports.next()?.user == "bob")
        }
    }
}

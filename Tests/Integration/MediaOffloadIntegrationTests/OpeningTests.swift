import AWSSigning
import DocumentModel
import Foundation
import TestSupport
import Testing

@testable import MediaOffload

extension MediaOffloadTests {
    @Suite struct OpeningTests {
        @Test func `a link opens only for users who may read the document`() async throws {
            let fixture = try await MediaFixture.shared()
            let picture = Array("seen \(UUID().uuidString)".utf8) + Array(repeating: 8, count: 5000)
            let id = try await fixture.insert(picture)
            let link = try #require(try await fixture.movedImage(of: id)["pictureURL"]?.stringValue)
            try await fixture.grant("write", to: "amy", on: id)
            try await fixture.grant("none", to: "bob", on: id)

            let amy = try fixture.token("amy")
            #expect(try await fixture.open(link, token: amy).body == picture)
            #expect(try await fixture.open(link, query: "?baas_at=\(amy)").body == picture)
            for user in ["bob", "eve"] {
                let answer = try await fixture.open(link, token: fixture.token(user))
                #expect(answer.status == 404)
                let unknown = try await fixture.open(link.dropLast(8) + "00000000", token: fixture.token(user))
                #expect(unknown.status == 404 && unknown.body == answer.body, "nothing tells that it is there")
            }
            // The grant for all users doesn't help a user with a lower grant of their own.
            try await fixture.grant("read", to: "*", on: id)
            #expect(try await fixture.open(link, token: fixture.token("eve")).status == 200)
            #expect(try await fixture.open(link, token: fixture.token("bob")).status == 404)
        }

        @Test func `a file that was cut or lost isn't served, and the answer says which`() async throws {
            let fixture = try await MediaFixture.shared()
            let picture = Array("cut \(UUID().uuidString)".utf8) + Array(repeating: 8, count: 5000)
            let id = try await fixture.insert(picture)
            let link = try #require(try await fixture.movedImage(of: id)["pictureURL"]?.stringValue)
            try await fixture.grant("read", to: "amy", on: id)
            let token = try fixture.token("amy")
            let file = try #require(fixture.files(of: picture).first)
            try #require(truncate(file, 100) == 0)
            let cut = try await fixture.open(link, token: token)
            #expect(cut.status == 500 && cut.text.contains("MediaDamaged"))
            try FileManager.default.removeItem(atPath: file)
            let lost = try await fixture.open(link, token: token)
            #expect(lost.status == 404 && lost.text.contains("MediaLost"))
        }

        @Test func `a link opens for a user who may read, but never had the partition on a device`() async throws {
            let fixture = try await MediaFixture.shared()
            let picture = Array("asked \(UUID().uuidString)".utf8) + Array(repeating: 8, count: 5000)
            let id = try await fixture.insert(picture)
            let link = try #require(try await fixture.movedImage(of: id)["pictureURL"]?.stringValue)
            let start = ContinuousClock.now
            #expect(try await fixture.open(link, token: fixture.token("asked-ann")).body == picture)
            #expect(try await fixture.open(link, token: fixture.token("carl")).status == 404)
            print("two questions in \(ContinuousClock.now - start)")
        }

        @Test func `a page of an origin that the app allows may read the bytes`() async throws {
            let fixture = try await MediaFixture.shared()
            let id = try await fixture.insert(Array(repeating: 11, count: 5000))
            let link = try #require(try await fixture.movedImage(of: id)["pictureURL"]?.stringValue)
            try await fixture.grant("read", to: "amy", on: id)
            let answer = try await fixture.open(link, token: fixture.token("amy"), origin: "https://any.example")
            #expect(answer.status == 200 && answer[header: "Access-Control-Allow-Origin"] == "https://any.example")
        }

        @Test func `a link without a valid token of its app is refused`() async throws {
            let fixture = try await MediaFixture.shared()
            let id = try await fixture.insert(Array(repeating: 9, count: 5000))
            let link = try #require(try await fixture.movedImage(of: id)["pictureURL"]?.stringValue)
            try await fixture.grant("read", to: "amy", on: id)
            let tokens = [
                nil, "no.a.token", try fixture.token("amy", app: "another"), try fixture.token("amy", lifetime: -1),
            ]
            for token in tokens {
                let answer = try await fixture.open(link, token: token)
                #expect(answer.status == 401 && answer.text.contains("InvalidSession"))
            }
        }

        @Test func `a link doesn't open for a session that ended, nor for a user who is disabled`() async throws {
            let fixture = try await MediaFixture.shared()
            let id = try await fixture.insert(Array(repeating: 12, count: 5000))
            let link = try #require(try await fixture.movedImage(of: id)["pictureURL"]?.stringValue)
            let user = ObjectId().hexString, session = ObjectId().hexString
            try await fixture.grant("read", to: user, on: id)
            let ended = try fixture.token(user, session: session), other = try fixture.token(user)
            #expect(try await fixture.open(link, token: ended).status == 200)
            try await fixture.end(session, of: user)
            try await eventually("the end is known") {
                let answers = [
                    try await fixture.open(link, token: ended),
                    try await fixture.open(link, query: "?baas_at=\(ended)"),
                ]
                return answers.allSatisfy { $0.status == 401 && $0.text.contains("InvalidSession") }
            }
            #expect(try await fixture.open(link, token: other).status == 200)
            try await fixture.disable(user)
            try await eventually("the user is known to be disabled") {
                let answer = try await fixture.open(link, token: other)
                return answer.status == 403 && answer.text.contains("UserDisabled")
            }
        }

        @Test func `a link that a client wrote itself opens nothing`() async throws {
            let fixture = try await MediaFixture.shared()
            let secret = Array("secret \(UUID().uuidString)".utf8) + Array(repeating: 10, count: 5000)
            let theirs = try await fixture.insert(secret)
            _ = try await fixture.movedImage(of: theirs)
            let id = UUID().uuidString
            try await fixture.grant("write", to: "eve", on: id)
            let forged = MediaLink(
                app: fixture.app, namespace: MediaFixture.namespace, id: "s:\(id)", digest: SHA256.hex(secret)
            ).url(base: "http://127.0.0.1:8084")
            try await fixture.messages.insertOne([
                "_id": .string(id), "partition": .string("conversation=\(id)"),
                "image": ["pictureURL": .string(forged)],
            ])
            let answer = try await fixture.open(forged, token: fixture.token("eve"))
            #expect(answer.status == 404 && answer.text.contains("MediaNotFound"))
        }

        @Test func `a link that was removed from the document opens nothing`() async throws {
            let fixture = try await MediaFixture.shared()
            let id = try await fixture.insert(
                Array("gone \(UUID().uuidString)".utf8) + Array(repeating: 11, count: 5000))
            let link = try #require(try await fixture.movedImage(of: id)["pictureURL"]?.stringValue)
            try await fixture.grant("read", to: "amy", on: id)
            try await fixture.messages.updateOne(["_id": .string(id)], ["$unset": ["image": ""]])
            #expect(try await fixture.open(link, token: fixture.token("amy")).status == 404)
        }
    }
}

import AppDefinition
import DocumentModel
import Foundation
import TestSupport
import Testing

@testable import Auth

/// Confirmation and reset through a mail server.
@Suite struct MailTests {
    /// A mail server, auth that sends its mails there, and an app whose accounts are confirmed by mail.
    private struct Post {
        let server: MailServer
        let app: AppClient

        func links(to address: String) throws -> [(token: String, tokenId: String)] {
            try server.mails(to: address).compactMap { mail in
                mail.text.firstMatch(of: /\?token=([0-9a-f]+)&tokenId=([0-9a-f]+)/).map {
                    (String($0.1), String($0.2))
                }
            }
        }
    }

    private static let confirmation =
        #""autoConfirm": false, "emailConfirmationUrl": "https://app.example/confirm", "confirmEmailSubject": "Bestätige Deine Anmeldung 🎻""#

    /// - Parameters:
    ///   - certificates: a directory with those of the mail server, which then speaks TLS.
    ///   - trusts: whether auth trusts their authority.
    private func withPost(
        certificates: String? = nil, trusts: Bool = false, _ body: (Post) async throws -> Void
    ) async throws {
        let fixture = try await AuthFixture.shared()
        let server = try await MailServer.start(certificates: certificates)
        let password = MailServer.password.addingPercentEncoding(withAllowedCharacters: .alphanumerics) ?? ""
        var values = AuthFixture.values(
            fixture.engines, database: fixture.database, pool: fixture.pool, mailFolder: fixture.mailFolder)
        values["mail.folder"] = nil
        values["mail.from"] = "konten@example.org"
        values["smtp.url"] = "smtp://\(MailServer.user):\(password)@127.0.0.1:\(server.port)?starttls=off"
        if let certificates {
            values["smtp.url"] = "smtps://\(MailServer.user):\(password)@localhost:\(server.port)"
            if trusts { values["smtp.tls-ca"] = certificates + "/ca.pem" }
        }
        let auth = try await HostedAuth(values, functions: nil, clock: .system)
        let app = AppClient(port: auth.port, app: try await fixture.app { $0.confirmation = Self.confirmation }.app)
        try await eventually("the app is known") { try await app.call(.get, "location").status == 200 }
        let result: Result<Void, any Error>
        do { result = .success(try await body(Post(server: server, app: app))) } catch { result = .failure(error) }
        await server.stop()
        try result.get()
    }

    @Test func `confirmation and reset come by mail, and their links work`() async throws {
        try await withPost { post in
            let email = "ada@example.org"
            #expect(try await post.app.register(email).status == 201)
            let mail = try #require(try post.server.mails(to: email).first)
            #expect(mail.from == "konten@example.org")
            #expect(mail.subject == "Bestätige Deine Anmeldung 🎻")
            #expect(mail.text.contains("https://app.example/confirm?token="))
            #expect(mail.defects == [])
            let link = try #require(try post.links(to: email).first)
            let tokens: Document = ["token": .string(link.token), "tokenId": .string(link.tokenId)]
            #expect(try await post.app.call(.post, "auth/providers/local-userpass/confirm", tokens).status == 200)
            #expect(try await post.app.login(email).status == 200)

            let reset = "auth/providers/local-userpass/reset"
            #expect(try await post.app.call(.post, reset + "/send", ["email": .string(email)]).status == 200)
            let second = try #require(try post.links(to: email).last)
            let change: Document = [
                "password": "another one", "token": .string(second.token), "tokenId": .string(second.tokenId),
            ]
            #expect(try await post.app.call(.post, reset, change).status == 200)
            #expect(try await post.app.login(email, "another one").status == 200)
        }
    }

    @Test func `an address that the mail server refuses is a permanent or a temporary error`() async throws {
        try await withPost { post in
            let refused = try await post.app.register("bounce@example.org")
            #expect(refused.status == 400 && refused.code == "BadRequest")
            #expect(refused.json["error"]?.stringValue?.contains("refuses this address") == true)
            let busy = try await post.app.register("busy@example.org")
            #expect(busy.status == 503 && busy.code == "ServiceUnavailable")
        }
    }

    @Test(arguments: [true, false])
    func `a mail server with a certificate of an authority of one's own is trusted where that is named`(
        trusts: Bool
    ) async throws {
        let certificates = FileManager.default.temporaryDirectory.appendingPathComponent("post-\(UUID().uuidString)")
            .path
        try FileManager.default.createDirectory(atPath: certificates, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(atPath: certificates) }  // a temporary directory
        try await TestCertificates.make(in: certificates)
        try await withPost(certificates: certificates, trusts: trusts) { post in
            let answer = try await post.app.register("dora@example.org")
            #expect(answer.status == (trusts ? 201 : 503), "\(answer)")
            #expect(try post.server.mails(to: "dora@example.org").count == (trusts ? 1 : 0))
        }
    }

    @Test func `a mail that an unavailable mail server didn't take can be requested again`() async throws {
        try await withPost { post in
            let email = "ben@example.org"
            await post.server.stop()
            let answer = try await post.app.register(email)
            #expect(answer.status == 503 && answer.code == "ServiceUnavailable")
            #expect(try await post.app.login(email).json["error"] == "confirmation required")

            let back = try await MailServer.start(port: post.server.port)
            let send = "auth/providers/local-userpass/confirm/send"
            #expect(try await post.app.call(.post, send, ["email": .string(email)]).status == 200)
            #expect(try back.mails(to: email).count == 1)
            await back.stop()
        }
    }

    @Test func `an unresponsive mail server doesn't delay other calls`() async throws {
        try await withPost { (post) async throws in
            async let waiting = (1...5).asyncMap { try await post.app.register("silent\($0)@example.org") }
            let start = ContinuousClock.now
            for number in 1...20 {
                #expect(try await post.app.call(.get, "location").status == 200)
                #expect(try await post.app.register("cleo\(number)@example.org").status == 201)
            }
            #expect(ContinuousClock.now - start < .seconds(10))
            await post.server.stop()
            #expect(try await waiting.allSatisfy { $0.status == 503 })
        }
    }
}

extension Sequence where Self: Sendable, Element: Sendable {
    /// The results of calls that run beside each other.
    fileprivate func asyncMap<T: Sendable>(_ body: @escaping @Sendable (Element) async throws -> T) async throws -> [T]
    {
        try await withThrowingTaskGroup(of: T.self) { group in
            for element in self { group.addTask { try await body(element) } }
            return try await group.reduce(into: []) { $0.append($1) }
        }
    }
}

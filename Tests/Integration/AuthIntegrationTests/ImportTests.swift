import DocumentModel
import EventLoop
import Foundation
import Postgres
import TestSupport
import Testing

@testable import Auth

@Suite struct ImportTests {
    private static let now: Int64 = 1_700_000_000_000

    private func user(_ text: String) throws -> ImportedUser {
        try ImportedUser(try ExtendedJSON.parseDocument(text), now: Self.now)
    }

    private func problem(_ text: String) throws -> String? {
        let document = try ExtendedJSON.parseDocument(text)
        do throws(ImportedUser.Problem) {
            _ = try ImportedUser(document, now: Self.now)
            return nil
        } catch {
            return error.description
        }
    }

    private func add(_ users: [ImportedUser], to app: AppClient) async throws -> [String] {
        let fixture = try await AuthFixture.shared()
        return try await AccountImport(client: fixture.postgres, app: app.app).add(users).map { outcome in
            switch outcome {
            case .added: "added"
            case .known: "known"
            case .refused(let reason): reason
            }
        }
    }

    private static func id() -> String { ObjectId().hexString }

    private static func emailUser(_ id: String, _ email: String, hash: String? = nil) -> String {
        let secret = hash.map { #", "password_hash": "\#($0)""# } ?? ""
        return """
            {"_id": "\(id)", "type": "normal", "creation_date": 1500000000, "last_authentication_date": 1600000000,
             "data": {"email": "\(email)", "name": "Ada"},
             "identities": [{"id": "\(Self.id())", "provider_type": "local-userpass", "provider_id": "\(Self.id())",
                             "provider_data": {"email": "\(email)"}\(secret)}]}
            """
    }

    @Test func `a user with another system's hash signs in with the old id, and the hash becomes ours`() async throws {
        let fixture = try await AuthFixture.shared()
        let app = try await fixture.app()
        for (name, hash) in PasswordHashTests.known {
            let id = Self.id()
            let email = "\(name)@example.org"
            #expect(
                try await add([try user(Self.emailUser(id, email, hash: hash))], to: app) == ["added"], "\(name)")
            #expect(try await app.login(email, "wrong password").code == "InvalidPassword")
            let tokens = try AppClient.tokens(try await app.login(email, PasswordHashTests.password))
            #expect(tokens.user == id)
            let stored = try await fixture.postgres.query(
                "SELECT password_hash FROM partita.auth_identities WHERE app = $1 AND subject = $2",
                [.text(app.app), .text(email)]
            ).decode(String.self)
            #expect(stored.first?.hasPrefix("$argon2id$v=19$m=64,t=1,p=1$") == true, "\(name): \(stored)")
            #expect(try await app.login(email, PasswordHashTests.password).status == 200)
            let profile = try await app.auth(.get, "profile", token: tokens.access).json
            #expect(profile["data"]?["name"] == "Ada")
        }
    }

    @Test func `a user without a hash gets a mail at the first sign-in, and keeps the id`() async throws {
        let fixture = try await AuthFixture.shared()
        let app = try await fixture.app()
        let id = Self.id()
        let email = "\(id)@example.org"
        #expect(try await add([try user(Self.emailUser(id, email))], to: app) == ["added"])
        let first = try await app.login(email)
        #expect(first.status == 401 && first.code == "InvalidPassword")
        #expect(first.json["error"]?.stringValue?.contains("mail with a link") == true)
        let mail = try #require(try fixture.mails(to: email).last)
        let reset = try await app.call(
            .post, "auth/providers/local-userpass/reset",
            ["password": "new password", "token": .string(mail.token), "tokenId": .string(mail.tokenId)])
        #expect(reset.status == 200)
        #expect(try AppClient.tokens(try await app.login(email, "new password")).user == id)
        #expect(try await app.login(email, "other password").json["error"] == "invalid username/password")
        #expect(try fixture.mails(to: email).count == 1)
    }

    @Test func `many attempts don't send many mails`() async throws {
        let fixture = try await AuthFixture.shared()
        let app = try await fixture.app()
        let email = "\(Self.id())@example.org"
        #expect(try await add([try user(Self.emailUser(Self.id(), email))], to: app) == ["added"])
        let start = ContinuousClock.now
        for number in 0..<10 { #expect(try await app.login(email, from: "192.0.2.\(number)").status == 401) }
        // Five are free, and then each has to wait twice as long as the one before it, from a second on.
        let seconds = (ContinuousClock.now - start) / .seconds(1)
        let limit = 5 + Int(log2(1 + seconds))
        #expect((1...min(limit, 9)).contains(try fixture.mails(to: email).count), "\(seconds) s")
    }

    @Test func `users of functions, tokens and identity providers go on at once`() async throws {
        let fixture = try await AuthFixture.shared()
        let issuer = try await TestIssuer()
        let app = try await fixture.app { app in
            app.customToken = """
                {"config": {"useJWKURI": true, "jwkURI": "\(issuer.url)", "audience": ["shop"]}}
                """
            app.providers["oauth2-google"] = """
                {"name": "oauth2-google", "type": "oauth2-google", "config": {"clientId": "\(OpenIDIssuer.client)"}}
                """
        }
        let id = Self.id()
        let many = """
            {"_id": {"$oid": "\(id)"}, "type": "normal", "identities": [
              {"id": "custom-ada", "provider_type": "custom-function"}, {"id": "t-1", "provider_type": "custom-token"},
              {"id": "g-1", "provider_type": "oauth2-google"}, {"id": "\(Self.id())", "provider_type": "api-key"}]}
            """
        #expect(try await add([try user(many)], to: app) == ["added"])
        let byFunction = try await app.call(.post, "auth/providers/custom-function/login", ["name": "ada"])
        #expect(try AppClient.tokens(byFunction).user == id)
        let byToken = try await app.call(
            .post, "auth/providers/custom-token/login", ["token": .string(try issuer.token("t-1"))])
        #expect(try AppClient.tokens(byToken).user == id)
        let google = try await fixture.issuer.token(["sub": "g-1"])
        let byGoogle = try await app.call(.post, "auth/providers/oauth2-google/login", ["id_token": .string(google)])
        #expect(try AppClient.tokens(byGoogle).user == id)
        // They aren't new: no trigger for created users runs.
        let kinds = try await fixture.events(of: id, count: 3).map(\.kind)
        #expect(kinds == [.signedIn, .signedIn, .signedIn])
    }

    @Test func `an import runs again, and reports who can't come along`() async throws {
        let fixture = try await AuthFixture.shared()
        let app = try await fixture.app()
        let taken = try await app.newUser("taken@example.org")
        let (first, second) = (Self.id(), Self.id())
        let users = [
            try user(Self.emailUser(first, "first@example.org")), try user(Self.emailUser(first, "again@example.org")),
            try user(Self.emailUser(second, "first@example.org")),
            try user(Self.emailUser(Self.id(), "taken@example.org")),
        ]
        let outcomes = try await add(users, to: app)
        #expect(outcomes[0] == "added" && outcomes[1] == "known")
        #expect(outcomes[2].contains("belongs to another user") && outcomes[3].contains("belongs to another user"))
        #expect(try await add(users, to: app)[0] == "known")
        #expect(try await app.admin(.delete, "/\(first)").status == 204)
        #expect(try await add([users[0]], to: app) == ["the user was deleted here"])
        #expect(try await app.admin(.get, "/\(taken.user)").status == 200)
        let disabled = Self.id()
        let text = Self.emailUser(disabled, "off@example.org").replacing(#""type""#, with: #""disabled": true, "type""#)
        #expect(try await add([try user(text)], to: app) == ["added"])
        #expect(try await app.admin(.get, "/\(disabled)").json["disabled"] == true)
    }

    @Test
    func `an identity that a list names twice comes once, and whoever hasn't confirmed an address doesn't keep it`()
        async throws
    {
        let fixture = try await AuthFixture.shared()
        let app = try await fixture.app {
            $0.confirmation = #""emailConfirmationUrl": "https://app.example/confirm""#
        }
        let pending = try await app.call(
            .post, "auth/providers/local-userpass/register", ["email": "ours@example.org", "password": "not mine"])
        #expect(pending.status == 201)
        let identity = #"{"id": "custom-twice", "provider_type": "custom-function"}"#
        let twice = #"{"_id": "\#(Self.id())", "identities": [\#(identity), \#(identity)]}"#
        let users = [
            try user(Self.emailUser(Self.id(), "one@example.org")), try user(twice),
            try user(Self.emailUser(Self.id(), "ours@example.org", hash: PasswordHashTests.known[0].hash)),
        ]
        #expect(try await add(users, to: app) == ["added", "added", "added"])
        let entered = try AppClient.tokens(try await app.login("ours@example.org", PasswordHashTests.password))
        #expect(entered.user == users[2].id)
    }

    @Test func `an account that is confirmed while it is imported stays`() async throws {
        let fixture = try await AuthFixture.shared()
        let app = try await fixture.app {
            $0.confirmation = #""emailConfirmationUrl": "https://app.example/confirm""#
        }
        let email = "\(Self.id())@example.org"
        let registered = try await app.call(
            .post, "auth/providers/local-userpass/register", ["email": .string(email), "password": "my own"])
        #expect(registered.status == 201)
        let other = try user(Self.emailUser(Self.id(), email))
        // The fixture's few connections are for the import, and for other tests.
        let url = fixture.database
        let outcomes = try await PostgresClient.withClient(PostgresConfiguration(url: url), on: LoopGroup(1)) {
            client in
            let importing = try await client.withTransaction { transaction in
                let holder = try await transaction.query("SELECT pg_backend_pid()").decode(Int32.self)[0]
                try await transaction.execute(
                    "UPDATE partita.auth_users SET is_pending = false WHERE app = $1 AND is_pending", [.text(app.app)])
                let importing = Task { try await add([other], to: app) }
                try await eventually("the import waits for the account") {
                    try await !client.query(
                        "SELECT FROM pg_stat_activity a WHERE $1::int = any(pg_blocking_pids(a.pid))",
                        [.int(Int64(holder))]
                    ).isEmpty
                }
                return importing
            }
            return try await importing.value
        }
        #expect(outcomes.first?.contains("belongs to another user") == true, "\(outcomes)")
        #expect(try await app.login(email, "my own").status == 200)
    }

    @Test func `whoever links an imported identity doesn't take the place of its user`() async throws {
        let app = try await AuthFixture.shared().app()
        let id = Self.id()
        let text = Self.emailUser(id, "kept@example.org", hash: PasswordHashTests.known[0].hash).replacing(
            #""last_authentication_date": 1600000000,"#, with: "")
        #expect(try await add([try user(text)], to: app) == ["added"])
        let guest = try AppClient.tokens(
            try await app.call(.post, "auth/providers/anon-user/login", ["provider": "anon-user"]))
        let link = try await app.call(
            .post, "auth/providers/local-userpass/login?link=true",
            ["username": "kept@example.org", "password": .string(PasswordHashTests.password)], token: guest.access)
        #expect(link.status == 409 && link.code == "AccountNameInUse")
        #expect(
            try AppClient.tokens(try await app.login("kept@example.org", PasswordHashTests.password)).user == id)
    }

    @Test func `what isn't a user is refused, with the reason`() throws {
        let identity = #""identities": [{"id": "x", "provider_type": "anon-user"}]"#
        #expect(try problem(#"{"_id": "5f0000000000000000000000", \#(identity)}"#) == nil)
        for (text, reason) in [
            (#"{"_id": "abc", \#(identity)}"#, "_id"), (#"{\#(identity)}"#, "_id"),
            (#"{"_id": "5F0000000000000000000000", \#(identity)}"#, "_id"),
            (#"{"_id": "5f0000000000000000000000", "type": "server", \#(identity)}"#, "server"),
            (#"{"_id": "5f0000000000000000000000"}"#, "no identity"),
            (#"{"_id": "5f0000000000000000000000", "creation_date": -1, \#(identity)}"#, "creation_date"),
            (#"{"_id": "5f0000000000000000000000", "disabled": "yes", \#(identity)}"#, "disabled"),
            (#"{"_id": "5f0000000000000000000000", "data": "s", \#(identity)}"#, "data isn't an object"),
            (
                #"{"_id": "5f0000000000000000000000", "data": {"x": "\#(String(repeating: "x", count: 4096))"}, \#(identity)}"#,
                "4096 bytes"
            ),
            (Self.emailUser("5f0000000000000000000000", "a@b.org,z@z.org"), "characters"),
            (Self.emailUser("5f0000000000000000000000", "a@b.org", hash: "md5"), "password_hash"),
            (#"{"_id": "5f0000000000000000000000", "identities": [{"provider_type": "custom-token"}]}"#, "no id"),
        ] {
            #expect(try problem(text)?.contains(reason) == true, "\(text)")
        }
    }

    @Test func `ten thousand users are imported within a minute, also on a busy machine`() async throws {
        let app = try await AuthFixture.shared().app()
        let start = ContinuousClock.now
        for batch in 0..<20 {
            let users = try (0..<500).map { try user(Self.emailUser(Self.id(), "u\(batch)-\($0)@example.org")) }
            #expect(try await add(users, to: app).allSatisfy { $0 == "added" })
        }
        #expect(ContinuousClock.now - start < patience)
    }
}

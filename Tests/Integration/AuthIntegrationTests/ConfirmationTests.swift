import DocumentModel
import EventTopics
import TestSupport
import Testing

@Suite struct ConfirmationTests {
    private static let byMail = #""autoConfirm": false, "emailConfirmationUrl": "https://app.example/confirm?x=1""#
    private static func byFunction(_ name: String) -> String {
        #""runConfirmationFunction": true, "confirmationFunctionName": "\#(name)""#
    }

    private func confirm(_ app: AppClient, _ link: (token: String, tokenId: String)) async throws -> AppClient.Answer {
        try await app.call(
            .post, "auth/providers/local-userpass/confirm",
            ["token": .string(link.token), "tokenId": .string(link.tokenId)])
    }

    @Test func `a mail's link confirms an account once, and only then it can sign in`() async throws {
        let fixture = try await AuthFixture.shared()
        let app = try await fixture.app { $0.confirmation = Self.byMail }
        #expect(try await app.register("new-\(app.app)@example.org").status == 201)
        let refused = try await app.login("new-\(app.app)@example.org")
        #expect(refused.status == 401 && refused.code == "AuthError")
        #expect(refused.json["error"] == "confirmation required")

        let link = try #require(try fixture.mails(to: "new-\(app.app)@example.org").first)
        #expect(try await confirm(app, (link.token, "65a000000000000000000001")).code == "UserpassTokenInvalid")
        #expect(try await confirm(app, link).status == 200)
        #expect(try await confirm(app, link).code == "UserpassTokenInvalid")
        let tokens = try await app.signIn("new-\(app.app)@example.org")
        // The account exists for the rest of the system from its confirmation on.
        #expect(try await fixture.events(of: tokens.user, count: 2).map(\.kind) == [.userCreated, .signedIn])
    }

    /// Anybody can ask for a mail to an address, and must not make the link useless that its owner is about to open.
    @Test func `a mail that is sent again leaves the one before, until one of them is used`() async throws {
        let fixture = try await AuthFixture.shared()
        let app = try await fixture.app { $0.confirmation = Self.byMail }
        let email = "twice-\(app.app)@example.org"
        #expect(try await app.register(email).status == 201)
        let path = "auth/providers/local-userpass/confirm/send"
        #expect(try await app.call(.post, path, ["email": .string(email)]).status == 200)
        let links = try fixture.mails(to: email)
        #expect(links.count == 2)
        let first = try #require(links.first), last = try #require(links.last)
        #expect(try await confirm(app, first).status == 200)
        #expect(try await confirm(app, last).code == "UserpassTokenInvalid")
        #expect(try await app.call(.post, path, ["email": .string(email)]).code == "UserAlreadyConfirmed")
        #expect(try await app.call(.post, path, ["email": "nobody@example.org"]).code == "UserNotFound")
    }

    @Test func `a link works for half an hour`() async throws {
        let fixture = try await AuthFixture.shared()
        let app = try await fixture.app { $0.confirmation = Self.byMail }
        let email = "slow-\(app.app)@example.org"
        #expect(try await app.register(email).status == 201)
        let link = try #require(try fixture.mails(to: email).first)
        let expired = try await ClockShift.ahead(fixture, by: 1801) { try await confirm(fixture.later(app), link) }
        #expect(expired.code == "UserpassTokenInvalid")
        #expect(try await confirm(app, link).status == 200)
    }

    @Test func `a function confirms at once, later, or not at all`() async throws {
        let fixture = try await AuthFixture.shared()
        let yes = try await fixture.app { $0.confirmation = Self.byFunction("succeed") }
        #expect(try await yes.register("a@example.org").status == 201)
        #expect(try await yes.login("a@example.org").status == 200)

        let later = try await fixture.app { $0.confirmation = Self.byFunction("wait") }
        #expect(try await later.register("a@example.org").status == 201)
        #expect(try await later.login("a@example.org").code == "AuthError")
        let argument = TestFunctions.lastArgument(app: later.app)
        #expect(argument?["username"] == "a@example.org")
        let link = (
            token: try #require(argument?["token"]?.stringValue),
            tokenId: try #require(argument?["tokenId"]?.stringValue)
        )
        #expect(try await confirm(later, link).status == 200)
        #expect(try await later.login("a@example.org").status == 200)

        // What it says itself is told from how it fails.
        let refusals = [
            ("refuse", "BadRequest"), ("break", "FunctionExecutionError"), ("overrun", "ExecutionTimeLimitExceeded"),
        ]
        for (name, code) in refusals {
            let no = try await fixture.app { $0.confirmation = Self.byFunction(name) }
            #expect(try await no.register("a@example.org").code == code)
            // The address is free again.
            #expect(try await no.register("a@example.org").code == code)
        }
    }

    /// It may have sent the link already.
    @Test func `an account stays when its confirmation function can't run, and is confirmed later`() async throws {
        let fixture = try await AuthFixture.shared()
        let app = try await fixture.app { $0.confirmation = Self.byFunction("lose") }
        let refused = try await app.register("a@example.org")
        #expect(refused.status == 503 && refused.code == "ServiceUnavailable")
        #expect(try await app.register("a@example.org").code == "AccountNameInUse")
        let again = try await app.call(
            .post, "auth/providers/local-userpass/confirm/call", ["email": "a@example.org"])
        #expect(again.code == "ServiceUnavailable")
        let argument = TestFunctions.lastArgument(app: app.app)
        let link = (
            token: try #require(argument?["token"]?.stringValue),
            tokenId: try #require(argument?["tokenId"]?.stringValue)
        )
        #expect(try await confirm(app, link).status == 200)
        #expect(try await app.login("a@example.org").status == 200)
    }

    @Test func `a confirmation function can be called again`() async throws {
        let fixture = try await AuthFixture.shared()
        let app = try await fixture.app { $0.confirmation = Self.byFunction("wait") }
        #expect(try await app.register("a@example.org").status == 201)
        let path = "auth/providers/local-userpass/confirm/call"
        #expect(try await app.call(.post, path, ["email": "a@example.org"]).status == 200)
        #expect(try await app.call(.post, path, ["email": "b@example.org"]).code == "UserNotFound")
        // Anybody may call it: when it fails, the account stays.
        let other = try await fixture.app { $0.confirmation = Self.byFunction("waitOnce") }
        #expect(try await other.register("a@example.org").status == 201)
        for _ in 0..<2 {
            #expect(try await other.call(.post, path, ["email": "a@example.org"]).code == "BadRequest")
        }
        let send = "auth/providers/local-userpass/confirm/send"
        #expect(try await app.call(.post, send, ["email": "a@example.org"]).code == "BadRequest")
    }
}

@Suite struct PasswordResetTests {
    private static let path = "auth/providers/local-userpass/reset"

    @Test func `a mail's link sets a new password and ends every session`() async throws {
        let fixture = try await AuthFixture.shared()
        let app = try await fixture.app()
        let email = "forgot-\(app.app)@example.org"
        let tokens = try await app.newUser(email)
        #expect(try await app.call(.post, Self.path + "/send", ["email": .string(email)]).status == 200)
        let link = try #require(try fixture.mails(to: email).last)
        let body: Document = [
            "password": "another one", "token": .string(link.token), "tokenId": .string(link.tokenId),
        ]
        #expect(try await app.call(.post, Self.path, body).status == 200)
        #expect(try await app.call(.post, Self.path, body).code == "UserpassTokenInvalid")
        #expect(try await app.refresh(tokens.refresh).code == "InvalidSession")
        #expect(try await app.login(email).code == "InvalidPassword")
        #expect(try await app.signIn(email, "another one").user == tokens.user)
        let events = try await fixture.events(of: tokens.user, count: 4)
        #expect(events.map(\.kind) == [.userCreated, .signedIn, .sessionRevoked, .signedIn])
    }

    @Test func `a function decides about a new password`() async throws {
        let fixture = try await AuthFixture.shared()
        func answer(_ function: String) async throws -> (AppClient, AppClient.Answer) {
            let app = try await fixture.app {
                $0.reset = #""runResetFunction": true, "resetFunctionName": "\#(function)""#
            }
            _ = try await app.newUser("a@example.org")
            let body: Document = ["email": "a@example.org", "password": "another one", "arguments": ["x", 1]]
            return (app, try await app.call(.post, Self.path + "/call", body))
        }
        let (yes, success) = try await answer("succeed")
        #expect(success.status == 200)
        #expect(try await yes.login("a@example.org", "another one").status == 200)
        #expect(try await yes.call(.post, Self.path + "/send", ["email": "a@example.org"]).code == "BadRequest")

        let (later, pending) = try await answer("wait")
        #expect(pending.status == 200)
        #expect(try await later.login("a@example.org", "another one").code == "InvalidPassword")
        let argument = try #require(TestFunctions.lastArgument(app: later.app))
        let body: Document = [
            "password": "another one", "token": argument["token"] ?? .null, "tokenId": argument["tokenId"] ?? .null,
        ]
        #expect(try await later.call(.post, Self.path, body).status == 200)
        #expect(try await later.login("a@example.org", "another one").status == 200)

        let refusals = [
            ("refuse", "BadRequest"), ("break", "FunctionExecutionError"), ("overrun", "ExecutionTimeLimitExceeded"),
        ]
        for (name, code) in refusals {
            let (no, failed) = try await answer(name)
            #expect(failed.status == 400 && failed.code == code)
            #expect(try await no.login("a@example.org").status == 200)
        }
    }

    /// Whoever knows an address can call the function, which decides who they are.
    @Test func `a stranger's calls of the reset function don't keep the owner from it`() async throws {
        let fixture = try await AuthFixture.shared()
        let app = try await fixture.app { $0.reset = #""runResetFunction": true, "resetFunctionName": "waitOnce""# }
        _ = try await app.newUser("a@example.org")
        let body: Document = ["email": "a@example.org", "password": "another one", "arguments": []]
        func call(from address: String) async throws -> AppClient.Answer {
            try await app.call(.post, Self.path + "/call", body, headers: ["X-Forwarded-For": address])
        }
        var codes: [String?] = []
        for _ in 0..<100 where codes.last != "TooManyRequests" {
            codes.append(try await call(from: "198.51.100.7").code)
        }
        #expect(codes.last == "TooManyRequests" && codes.count > 5)
        #expect(try await call(from: "203.0.113.9").code == "BadRequest")
    }
}

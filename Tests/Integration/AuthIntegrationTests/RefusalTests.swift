import DocumentModel
import TestSupport
import Testing

@Suite struct RefusalTests {
    private static let providers = "/api/client/v2.0/app/APP/auth/providers/"

    @Test(arguments: [
        (
            "POST", "local-userpass/login", #"{"username": "known@example.org", "password": "wrong one"}"#, 401,
            "InvalidPassword"
        ),
        (
            "POST", "local-userpass/login", #"{"username": "nobody@example.org", "password": "password"}"#, 401,
            "InvalidPassword"
        ),
        ("POST", "local-userpass/login", #"{"username": "known@example.org"}"#, 400, "MissingParameter"),
        ("POST", "local-userpass/login", #"{"username": 5, "password": "password"}"#, 400, "InvalidParameter"),
        ("POST", "local-userpass/login", "{", 400, "BadRequest"),
        ("POST", "local-userpass/login", "[]", 400, "BadRequest"),
        ("POST", "local-userpass/login", "", 400, "BadRequest"),
        (
            "POST", "local-userpass/register", #"{"email": "known@example.org", "password": "password"}"#, 409,
            "AccountNameInUse"
        ),
        (
            "POST", "local-userpass/register", #"{"email": "x@example.org", "password": "short"}"#, 400,
            "InvalidParameter"
        ),
        ("POST", "local-userpass/register", #"{"email": "", "password": "password"}"#, 400, "InvalidParameter"),
        (
            "POST", "local-userpass/register", #"{"email": "a b@example.org", "password": "password"}"#, 400,
            "InvalidParameter"
        ),
        (
            "POST", "local-userpass/register", #"{"email": "a\u0000@example.org", "password": "password"}"#, 400,
            "InvalidParameter"
        ),
        ("POST", "local-userpass/confirm", #"{"token": "a", "tokenId": "b"}"#, 400, "UserpassTokenInvalid"),
        ("POST", "local-userpass/confirm/send", #"{"email": "known@example.org"}"#, 400, "BadRequest"),
        (
            "POST", "local-userpass/reset", #"{"password": "password", "token": "a", "tokenId": "b"}"#, 400,
            "UserpassTokenInvalid"
        ),
        ("POST", "local-userpass/reset/send", #"{"email": "nobody@example.org"}"#, 404, "UserNotFound"),
        (
            "POST", "local-userpass/reset/call",
            #"{"email": "known@example.org", "password": "password", "arguments": 1}"#, 400, "InvalidParameter"
        ),
        ("POST", "anon-user/login", "{}", 404, "AuthProviderNotFound"),
        ("POST", "oauth2-google/login", "{}", 404, "AuthProviderNotFound"),
        ("POST", "api-key/login", #"{"key": "no such key"}"#, 401, "AuthError"),
        ("POST", "custom-function/login", #"{"unknown": 1}"#, 401, "AuthError"),
        ("POST", "custom-function/login", #"{"name": "endless"}"#, 400, "ExecutionTimeLimitExceeded"),
    ])
    func `a wrong call is refused with its code`(
        method: String, path: String, body: String, status: Int, code: String
    ) async throws {
        let app = try await RefusalApp.shared()
        let target = Self.providers.replacing("APP", with: app.app) + path
        let answer = try await app.sendText(.post, target, body)
        #expect(answer.status == status)
        #expect(answer.code == code)
        // SDKs compare the whole value.
        #expect(answer.header("Content-Type") == "application/json")
    }

    /// Paths and bodies with U+0000, which Postgres can't store: none is answered with a 503, which would make the client retry.
    private static let withNUL: [(path: String, body: String, code: String)] = [
        ("local-userpass/login", #"{"username": "a\u0000", "password": "password"}"#, "InvalidParameter"),
        ("local-userpass/login", #"{"username": "a", "password": "pass\u0000word"}"#, "InvalidParameter"),
        ("local-userpass/login?link=%00", #"{"username": "a", "password": "password"}"#, "BadRequest"),
        ("local-userpass/confirm", #"{"token": "a\u0000", "tokenId": "b"}"#, "InvalidParameter"),
        ("local-userpass/confirm", #"{"token": "a", "tokenId": "b\u0000"}"#, "InvalidParameter"),
        ("local-userpass/confirm/send", #"{"email": "a\u0000"}"#, "InvalidParameter"),
        ("local-userpass/confirm/call", #"{"email": "a\u0000"}"#, "InvalidParameter"),
        ("local-userpass/reset/send", #"{"email": "a\u0000"}"#, "InvalidParameter"),
        (
            "local-userpass/reset/call", #"{"email": "a\u0000", "password": "password", "arguments": []}"#,
            "InvalidParameter"
        ),
        ("api-key/login", #"{"key": "a\u0000"}"#, "InvalidParameter"),
        ("%00/login", "{}", "BadRequest"),
    ]

    @Test(arguments: withNUL) func `U+0000 is a wrong parameter`(path: String, body: String, code: String) async throws
    {
        let app = try await RefusalApp.shared()
        let answer = try await app.sendText(.post, Self.providers.replacing("APP", with: app.app) + path, body)
        #expect(answer.status == 400 && answer.code == code)
    }

    @Test func `an unknown app is reported`() async throws {
        let fixture = try await AuthFixture.shared()
        let answer = try await AppClient(port: fixture.server.port, app: "no-such-app").call(.get, "location")
        #expect(answer.status == 404 && answer.code == "AppNotFound")
    }

    @Test func `an oversized body is refused unread`() async throws {
        let app = try await RefusalApp.shared()
        let body = "{\"email\": \"" + String(repeating: "a", count: 100_000) + "\"}"
        let target = Self.providers.replacing("APP", with: app.app) + "local-userpass/register"
        #expect(try await app.sendText(.post, target, body).status == 413)
    }

    @Test(arguments: ["", "nonsense", "a.b.c", "eyJhbGciOiJub25lIn0.e30.x"])
    func `a text that isn't a token is an invalid session`(token: String) async throws {
        let app = try await RefusalApp.shared()
        for (method, path) in [
            (AppClient.Method.get, "profile"), (.post, "session"), (.delete, "delete"), (.get, "api_keys"),
        ] {
            let answer = try await app.auth(method, path, token: token)
            #expect(answer.status == 401 && answer.code == "InvalidSession")
        }
        #expect(try await app.auth(.get, "profile").code == "InvalidSession")
    }

    @Test func `an access token doesn't refresh and a refresh token opens nothing`() async throws {
        let app = try await RefusalApp.shared()
        let tokens = try await app.newUser("mixed@example.org")
        #expect(try await app.refresh(tokens.access).code == "InvalidSession")
        #expect(try await app.auth(.get, "profile", token: tokens.refresh).code == "InvalidSession")
    }
}

/// One app with one account for all refusals.
private actor RefusalApp {
    private static let holder = RefusalApp()
    private var made: Task<AppClient, any Error>?

    static func shared() async throws -> AppClient { try await holder.client() }

    private func client() async throws -> AppClient {
        let task =
            made
            ?? Task {
                let app = try await AuthFixture.shared().app { $0.isAnonymousDisabled = true }
                let answer = try await app.register("known@example.org")
                guard answer.status == 201 else { throw UnexpectedAnswer(answer: answer) }
                return app
            }
        made = task
        return try await task.value
    }
}

import DocumentModel
import TestSupport
import Testing

@Suite struct CrossOriginTests {
    private let preflight = ["Origin": "https://shop.example", "Access-Control-Request-Method": "POST"]

    @Test func `a page of an allowed origin may call, and so may its preflight request`() async throws {
        let app = try await AuthFixture.shared().app { $0.origins = ["https://shop.example"] }
        let asked = try await app.call(.options, "auth/providers/local-userpass/login", headers: preflight)
        #expect(asked.status == 204)
        #expect(asked.header("Access-Control-Allow-Origin") == "https://shop.example")
        let called = try await app.call(.get, "location", headers: ["Origin": "https://shop.example"])
        #expect(called.header("Access-Control-Allow-Origin") == "https://shop.example")
    }

    @Test func `a page of another origin may not`() async throws {
        let app = try await AuthFixture.shared().app { $0.origins = ["https://else.example"] }
        let asked = try await app.call(.options, "auth/providers/local-userpass/login", headers: preflight)
        #expect(asked.header("Access-Control-Allow-Origin") == nil)
        let called = try await app.call(.get, "location", headers: ["Origin": "https://shop.example"])
        #expect(called.header("Access-Control-Allow-Origin") == nil)
        #expect(called.status == 403)
        // Programs without an origin, and pages of the same host, may call.
        #expect(try await app.call(.get, "location").status == 200)
        #expect(try await app.call(.get, "location", headers: ["Origin": "http://127.0.0.1:\(app.port)"]).status == 200)
    }

    @Test func `an app without a list may be called from anywhere`() async throws {
        let app = try await AuthFixture.shared().app()
        let called = try await app.call(.get, "location", headers: ["Origin": "https://any.example"])
        #expect(called.header("Access-Control-Allow-Origin") == "https://any.example")
    }
}

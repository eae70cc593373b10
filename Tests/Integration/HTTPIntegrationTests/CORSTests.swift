import HTTPServer
import Testing

@Suite struct CORSTests {
    private func withApps(_ body: (HTTPServer) async throws -> Void) async throws {
        try await withServer(
            { configuration in
                var cors = CORSPolicy { request in
                    switch request.parameters["app"] {
                    case "web": .only(["https://web.example"])
                    case "open": .any
                    default: .none
                    }
                }
                cors.exposedHeaders = ["X-Count"]
                configuration.cors = cors
            },
            routes: { router in
                router.get("/app/:app") { _ in HTTPResponse(headers: ["X-Count": "3"]) }
                router.webSocket("/app/:app/sync") { _ in .webSocket { $0.send(text: "open") } }
                router.post("/app/:app") { _ in throw HTTPError(401, code: "InvalidSession", "no") }
            }
        ) { server in try await body(server) }
    }

    @Test func `an allowed page may read the answer, also an error`() async throws {
        try await withApps { server in
            let response = try await request(server.port, "GET /app/web", headers: ["Origin: https://web.example"])
            #expect(response.status == 200)
            #expect(response.headers["access-control-allow-origin"] == "https://web.example")
            #expect(response.headers["access-control-expose-headers"] == "X-Count")
            #expect(response.headers["vary"] == "Origin")
            let error = try await request(
                server.port, "POST /app/web", headers: ["Origin: https://web.example"], body: "{}")
            #expect(error.status == 401)
            #expect(error.headers["access-control-allow-origin"] == "https://web.example")
        }
    }

    @Test func `another page may not, and a request without an origin is served`() async throws {
        try await withApps { server in
            let other = try await request(server.port, "GET /app/web", headers: ["Origin: https://evil.example"])
            #expect(other.headers["access-control-allow-origin"] == nil)
            let none = try await request(server.port, "GET /app/web")
            #expect(none.status == 200)
            #expect(none.headers["access-control-allow-origin"] == nil)
            #expect(none.headers["vary"] == "Origin")
        }
    }

    @Test func `a preflight request is answered for the app of its path`() async throws {
        try await withApps { server in
            let ask = [
                "Origin: https://web.example", "Access-Control-Request-Method: POST",
                "Access-Control-Request-Headers: x-a",
            ]
            let allowed = try await request(server.port, "OPTIONS /app/web", headers: ask)
            #expect(allowed.status == 204)
            #expect(allowed.headers["access-control-allow-origin"] == "https://web.example")
            #expect(allowed.headers["access-control-allow-methods"]?.contains("POST") == true)
            #expect(allowed.headers["access-control-allow-headers"] == "x-a")
            #expect(allowed.headers["access-control-max-age"] == "600")
            #expect(try await request(server.port, "OPTIONS /app/open", headers: ask).status == 204)
            let refused = try await request(server.port, "OPTIONS /app/closed", headers: ask)
            #expect(refused.status == 403)
            #expect(refused.headers["access-control-allow-origin"] == nil)
        }
    }

    @Test func `a page opens a socket only where it may call`() async throws {
        try await withApps { server in
            for (app, origin, status) in [
                ("web", "https://web.example", 101), ("web", "https://evil.example", 403),
                ("open", "https://evil.example", 101),
                ("closed", "https://web.example", 403), ("web", "null", 403),
            ] {
                let answer = try await RawClient(port: server.port).upgrade(
                    "/app/\(app)/sync", headers: ["Origin: \(origin)"])
                #expect(answer.status == status, "\(app) \(origin)")
                if status == 403 { #expect(answer.text.contains(#""error_code":"OriginNotAllowed""#)) }
            }
            // A client that isn't a browser sends no origin.
            for app in ["web", "closed"] {
                #expect(try await RawClient(port: server.port).upgrade("/app/\(app)/sync").status == 101)
            }
        }
    }
}

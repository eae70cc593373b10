import HTTPServer
import Testing

@Suite struct RoutingTests {
    private func withRoutes(_ body: (HTTPServer) async throws -> Void) async throws {
        try await withServer(routes: { router in
            router.get("/") { _ in .text("root") }
            router.group("/api/client/v2.0/app/:app") { router in
                router.get("/location") { .text("location of \(try $0.parameters.require("app"))") }
                router.post("/auth/providers/:provider/login") { request in
                    .text("\(request.parameters["app"] ?? "")+\(request.parameters["provider"] ?? "")")
                }
            }
            router.get("/users/me") { _ in .text("me") }
            router.get("/users/:user") { .text("user \($0.parameters["user"] ?? "")") }
            router.delete("/users/:user/devices/:device") { _ in .noContent }
            router.get("/users/me/settings") { _ in .text("settings") }
            router.get("/users/:user/posts") { .text("posts of \($0.parameters["user"] ?? "")") }
            router.get("/files/*path") { .text($0.parameters["path"] ?? "") }
            router.get("/query") { .text("\($0.query["a"] ?? "-")|\($0.query["b c"] ?? "-")|\($0.query.pairs.count)") }
            router.get("/who") { .text("\($0.route ?? "") \($0.remoteAddress.ip) \($0.headers["X-Two"] ?? "")") }
        }) { server in try await body(server) }
    }

    @Test func `templates take their parameters from the path`() async throws {
        try await withRoutes { server async throws in
            let app = "/api/client/v2.0/app"
            #expect(try await request(server.port, "GET \(app)/rchat-abc/location").text == "location of rchat-abc")
            #expect(
                try await request(server.port, "POST \(app)/a%2Fb/auth/providers/local%20user/login").text
                    == "a/b+local user")
            #expect(try await request(server.port, "GET /").text == "root")
            #expect(try await request(server.port, "GET /files/a/b%20c/d.txt?x=1").text == "a/b c/d.txt")
        }
    }

    @Test func `a literal part wins over a parameter, and the search backtracks`() async throws {
        try await withRoutes { server async throws in
            #expect(try await request(server.port, "GET /users/me").text == "me")
            #expect(try await request(server.port, "GET /users/%6De").text == "me")
            #expect(try await request(server.port, "GET /users/you").text == "user you")
            #expect(try await request(server.port, "GET /users/me/posts").text == "posts of me")
        }
    }

    @Test func `an unknown path is a 404 in JSON`() async throws {
        try await withRoutes { server async throws in
            for path in ["/nothing", "/users", "/users/", "/users/me/", "/api/client/v2.0/app//location"] {
                let response = try await request(server.port, "GET \(path)")
                #expect(response.status == 404, "\(path)")
                #expect(response.headers["content-type"] == "application/json")
                #expect(response.text == #"{"error":"no such resource","error_code":"NotFound"}"#)
            }
        }
    }

    @Test func `an observer is told of requests that no handler gets`() async throws {
        let told = Box<[String]>([])
        try await withServer { configuration in
            configuration.cors = CORSPolicy { _ in .only(["https://own.example"]) }
            configuration.cors?.refusesOthers = true
        } routes: { router in
            router.put("/api/admin/things/:thing", bodyLimit: 3) { _ in .noContent }
            router.get("/api/other") { _ in .noContent }
            router.observeRefusals(under: "/api/admin") { request, error in
                told.update { $0.append("\(request.route ?? "-") \(request.parameters["thing"] ?? "-") \(error.code)") }
            }
        } _: { server in
            let port = server.port
            for path in ["/api/admin/nope", "/api/%61dmin/nope", "/api/admin/things/%ff", "/api/administer", "/nope"] {
                _ = try await request(port, "GET \(path)")
            }
            _ = try await request(port, "PATCH /api/admin/things/a")
            _ = try await request(port, "OPTIONS /api/admin/things/a")
            _ = try await request(port, "PUT /api/admin/things/b")
            _ = try await request(port, "PUT /api/admin/things/c?x=%zz")
            _ = try await request(port, "PUT /api/admin/things/d", headers: ["Origin: https://other.example"])
            #expect(try await request(port, "PUT /api/admin/things/e", body: "four").status == 413)
            let template = "/api/admin/things/:thing"
            try await eventually("the last is told beside its answer") { told.value.count == 7 }
            #expect(
                told.value == [
                    "- - NotFound", "- - NotFound", "- - BadRequest", "\(template) a MethodNotAllowed",
                    "\(template) c BadRequest", "\(template) d OriginNotAllowed",
                    "\(template) e RequestEntityTooLarge",
                ])
        }
    }

    @Test func `another method is a 405 with the ones that are allowed`() async throws {
        try await withRoutes { server async throws in
            let response = try await request(server.port, "PUT /users/me", body: "x")
            #expect(response.status == 405)
            #expect(response.headers["allow"] == "GET, HEAD, OPTIONS")
            #expect(response.headers["content-type"] == "application/json")
            #expect(response.text.contains("MethodNotAllowed"))
            let options = try await request(server.port, "OPTIONS /users/1/devices/2")
            #expect(options.status == 204)
            #expect(options.headers["allow"] == "DELETE, OPTIONS")
        }
    }

    @Test func `HEAD is GET without the body`() async throws {
        try await withRoutes { server async throws in
            let client = try RawClient(port: server.port)
            let head = try await client.exchange("HEAD /users/me HTTP/1.1\r\nHost: a\r\n\r\n", isHead: true)
            #expect(head.status == 200)
            #expect(head.headers["content-length"] == "2")
            // No part of a body is left in the connection.
            #expect(try await client.exchange("GET / HTTP/1.1\r\nHost: a\r\n\r\n").text == "root")
        }
    }

    @Test func `a query is decoded, a path or a query that can't be decoded is refused`() async throws {
        try await withRoutes { server async throws in
            #expect(try await request(server.port, "GET /query?a=1%2B1&b+c=x+y&a=2&flag").text == "1+1|x y|4")
            for path in [
                "/users/%", "/users/%4", "/users/%zz", "/users/%FF", "/users/a%00b", "/query?a=%zz", "/query?a=1&%00",
                "/query?a=%FF",
            ] {
                #expect(try await request(server.port, "GET \(path)").status == 400, "\(path)")
            }
        }
    }

    @Test func `a handler sees route, address and headers`() async throws {
        try await withRoutes { server async throws in
            let response = try await request(server.port, "GET /who", headers: ["x-two: a", "X-TWO: b"])
            #expect(response.text == "/who 127.0.0.1 a, b")
        }
    }

    @Test func `steps run around the handlers in the order they were added`() async throws {
        try await withServer(routes: { router in
            router.use { request, next in
                var response = try await next(request)
                response.headers.add("X-Trace", "outer")
                return response
            }
            router.group("/closed") { router in
                router.use { request, next in
                    guard request.headers["authorization"] == "Bearer t" else {
                        throw HTTPError(401, code: "InvalidSession", "sign in \"first\"\n")
                    }
                    return try await next(request)
                }
                router.get("/door") { _ in .text("in") }
            }
            router.get("/open") { _ in .text("open") }
        }) { server in
            let refused = try await request(server.port, "GET /closed/door")
            #expect(refused.status == 401)
            #expect(refused.text == #"{"error":"sign in \"first\"\n","error_code":"InvalidSession"}"#)
            let inside = try await request(server.port, "GET /closed/door", headers: ["Authorization: Bearer t"])
            #expect(inside.text == "in")
            #expect(inside.headers["x-trace"] == "outer")
            #expect(try await request(server.port, "GET /open").text == "open")
        }
    }
}

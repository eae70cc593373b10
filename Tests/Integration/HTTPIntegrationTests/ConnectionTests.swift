import EventLoop
import HTTPServer
import Lifecycle
import Logging
import Metrics
import Testing

private struct Unexpected: Error {}
private struct Conflict: HTTPErrorConvertible {
    var httpError: HTTPError { HTTPError(409, code: "Conflict", "taken") }
}

@Suite struct ConnectionTests {
    @Test func `a connection serves request after request, also pipelined`() async throws {
        try await withServer(routes: { router in
            router.post("/echo") { HTTPResponse(body: $0.body) }
            router.get("/slow") { _ in
                try await Task.sleep(for: .milliseconds(20))
                return .text("slow")
            }
            router.get("/fast") { _ in .text("fast") }
        }) { server in
            let client = try RawClient(port: server.port)
            for number in 0..<20 {
                let body = String(repeating: "x", count: number * 100)
                let response = try await client.exchange(
                    "POST /echo HTTP/1.1\r\nHost: a\r\nContent-Length: \(body.count)\r\n\r\n\(body)")
                #expect(response.text == body)
            }
            let get = { (path: String) in "GET \(path) HTTP/1.1\r\nHost: a\r\n\r\n" }
            try await client.send(get("/slow") + get("/fast") + get("/slow"))
            #expect(try await client.response().text == "slow")
            #expect(try await client.response().text == "fast")
            #expect(try await client.response().text == "slow")
        }
    }

    @Test func `a waiting handler and a disconnecting client don't affect other connections`() async throws {
        let gate = Gate(), entered = Box(0)
        try await withServer(routes: { router in
            router.get("/wait") { _ in
                entered.update { $0 += 1 }
                await gate.wait()
                return .text("done")
            }
            router.get("/fast") { _ in .text("fast") }
        }) { server in
            var waiting: [RawClient] = []
            for _ in 0..<20 {
                let client = try RawClient(port: server.port)
                try await client.send("GET /wait HTTP/1.1\r\nHost: a\r\n\r\n")
                waiting.append(client)
            }
            try await eventually("all handlers run") { entered.value == 20 }
            #expect(try await request(server.port, "GET /fast").text == "fast")
            for client in waiting[10...] { await client.close() }
            gate.open()
            for client in waiting[..<10] { #expect(try await client.response().text == "done") }
            #expect(try await request(server.port, "GET /fast").text == "fast")
        }
    }

    @Test func `a handler and a stream end when their client hangs up`() async throws {
        let running = Box(0), cancelled = Box(0), log = InMemoryLogHandler()
        try await withServer(
            logger: Logger(label: "test", handler: log),
            routes: { router in
                router.get("/wait") { _ in
                    running.update { $0 += 1 }
                    await untilCancelled()
                    cancelled.update { $0 += 1 }
                    throw Unexpected()
                }
                router.get("/stream") { _ in
                    HTTPResponse(
                        stream: HTTPBodyStream { writer in
                            try await writer.write("first")
                            running.update { $0 += 1 }
                            await untilCancelled()
                            cancelled.update { $0 += 1 }
                        })
                }
            }
        ) { server in
            var clients: [RawClient] = []
            for path in ["/wait", "/stream"] {
                let client = try RawClient(port: server.port)
                try await client.send("GET \(path) HTTP/1.1\r\nHost: a\r\n\r\n")
                clients.append(client)
            }
            try await eventually("both run") { running.value == 2 }
            for client in clients { await client.close() }
            try await eventually("both are cancelled") { cancelled.value == 2 }
            #expect(!log.messages.contains("request failed"))
        }
    }

    @Test func `a client that only ended its sending gets the answer of a slow handler`() async throws {
        let wasCancelled = Box(false)
        try await withServer(routes: { router in
            router.get("/slow") { _ in
                // Longer than two checks for clients that have left.
                do { try await Task.sleep(for: .milliseconds(2500)) } catch {
                    wasCancelled.update { $0 = true }
                    throw error
                }
                return .text("slow")
            }
        }) { server in
            let client = try RawClient(port: server.port)
            try await client.send("GET /slow HTTP/1.1\r\nHost: a\r\n\r\n")
            await client.endSending()
            #expect(try await client.response().text == "slow")
            #expect(try await client.sawEnd())
            #expect(!wasCancelled.value)
        }
    }

    @Test func `a stream without end ends when the server stops gracefully`() async throws {
        let isStopping = Box(false)
        try await withServer(
            { $0.onDrain = { isStopping.update { $0 = true } } },
            routes: { router in
                router.get("/stream") { _ in
                    HTTPResponse(
                        stream: HTTPBodyStream { writer in
                            try await writer.write("first")
                            while !isStopping.value { try await Task.sleep(for: .milliseconds(10)) }
                            try await writer.write("last")
                        })
                }
            }
        ) { server in
            let client = try RawClient(port: server.port)
            try await client.send("GET /stream HTTP/1.1\r\nHost: a\r\n\r\n")
            async let answer = client.response()
            try await Task.sleep(for: .milliseconds(100))
            let start = ContinuousClock.now
            await server.stop()
            #expect(ContinuousClock.now - start < .seconds(10))
            #expect(try await answer.text == "firstlast")
        }
    }

    @Test func `errors become answers`() async throws {
        let log = InMemoryLogHandler()
        try await withServer(
            logger: Logger(label: "test", handler: log),
            routes: { router in
                router.get("/conflict") { _ in throw Conflict() }
                router.get("/unexpected") { _ in throw Unexpected() }
                router.get("/impossible") { _ in HTTPResponse(status: 7) }
                router.get("/away") { _ in throw HTTPError(503, code: "ServiceUnavailable", "away") }
                router.get("/long-away") { _ in
                    throw HTTPError(503, code: "ServiceUnavailable", "away", headers: ["Retry-After": "9"])
                }
                router.get("/injected") { _ in HTTPResponse(headers: ["X-Bad": "a\r\nX-Worse: b", "X-Good": "1"]) }
            }
        ) { server in
            let conflict = try await request(server.port, "GET /conflict")
            #expect(conflict.status == 409)
            #expect(conflict.text == #"{"error":"taken","error_code":"Conflict"}"#)
            #expect(conflict.headers["retry-after"] == nil)
            for (path, seconds) in [("away", "1"), ("long-away", "9")] {
                let away = try await request(server.port, "GET /\(path)")
                #expect(away.status == 503 && away.headers["retry-after"] == seconds)
            }
            let unexpected = try await request(server.port, "GET /unexpected")
            #expect(unexpected.status == 500)
            #expect(unexpected.text == #"{"error":"internal server error","error_code":"InternalServerError"}"#)
            #expect(log.messages.contains("request failed"))
            #expect(try await request(server.port, "GET /impossible").status == 500)
            let injected = try await request(server.port, "GET /injected")
            #expect(injected.headers["x-good"] == "1")
            #expect(injected.headers["x-worse"] == nil)
        }
    }

    @Test func `an HTTP 1.0 client gets its answer and the end of the connection`() async throws {
        try await withServer(routes: { $0.get("/") { _ in .text("old") } }) { server in
            let client = try RawClient(port: server.port)
            #expect(try await client.exchange("GET / HTTP/1.0\r\n\r\n").text == "old")
            #expect(try await client.sawEnd())
        }
    }

    @Test func `a port that is taken is an error with the port`() async throws {
        try await withServer(routes: { $0.get("/") { _ in .noContent } }) { server in
            let second = HTTPServer(
                HTTPServerConfiguration(address: "127.0.0.1", port: server.port), router: HTTPRouter(),
                loops: [testLoops.next()])
            let error = await #expect(throws: HTTPServerError.self) { try await second.start() }
            #expect(error?.code == .portInUse)
            #expect(error?.port == server.port)
        }
        let nowhere = HTTPServer(
            HTTPServerConfiguration(address: "192.0.2.1", port: 0), router: HTTPRouter(), loops: [testLoops.next()])
        let error = await #expect(throws: HTTPServerError.self) { try await nowhere.start() }
        #expect(error?.code == .cannotListen)
    }

    @Test func `several loops share one port`() async throws {
        let seen = Box<Set<Int>>([])
        try await withServer(
            loops: testLoops.loops,
            routes: { router in
                router.get("/") { request in
                    let index = request.loop.index
                    seen.update { $0.insert(index) }
                    #expect(request.loop.inLoop)
                    return .noContent
                }
            }
        ) { server in
            // The kernel chooses by a hash of the addresses, so enough connections reach both.
            for _ in 0..<40 { _ = try await request(server.port, "GET /") }
        }
        #expect(seen.value.count == 2)
    }

    @Test func `a graceful stop finishes what runs and accepts nothing more`() async throws {
        let gate = Gate(), entered = Gate()
        var router = HTTPRouter()
        router.get("/wait") { _ in
            entered.open()
            await gate.wait()
            return .text("finished")
        }
        let server = HTTPServer(
            HTTPServerConfiguration(address: "127.0.0.1", port: 0), router: router, loops: [testLoops.next()],
            logger: Logger(label: "test", handler: InMemoryLogHandler()), registry: MetricsRegistry())
        try await server.start()
        let port = server.port
        try await testGracefulShutdown { trigger in
            async let running: Void = server.run()
            let client = try RawClient(port: port)
            try await client.send("GET /wait HTTP/1.1\r\nHost: a\r\n\r\n")
            await entered.wait()
            trigger.triggerGracefulShutdown()
            try await eventually("the port is closed") { (try? RawClient(port: port)) == nil }
            gate.open()
            let response = try await client.response()
            #expect(response.text == "finished")
            #expect(response.headers["connection"] == "close")
            try await running
        }
    }

    @Test func `a stop at the deadline answers what still runs with 503`() async throws {
        let entered = Gate(), cancelled = Box(false)
        var router = HTTPRouter()
        router.get("/stuck") { _ in
            entered.open()
            do { try await Task.sleep(for: .seconds(60)) } catch { cancelled.update { $0 = true } }
            return .text("late")
        }
        let server = HTTPServer(
            HTTPServerConfiguration(address: "127.0.0.1", port: 0), router: router, loops: [testLoops.next()],
            logger: Logger(label: "test", handler: InMemoryLogHandler()), registry: MetricsRegistry())
        try await server.start()
        let client = try RawClient(port: server.port)
        try await client.send("GET /stuck HTTP/1.1\r\nHost: a\r\n\r\n")
        await entered.wait()
        await server.stop(drainingFor: .milliseconds(50))
        #expect(try await client.response().status == 503)
        #expect(try await client.sawEnd())
        try await eventually("the task is cancelled") { cancelled.value }
    }

    @Test func `an idle connection is closed`() async throws {
        try await withServer({ $0.idleTimeout = .seconds(1) }, routes: { $0.get("/") { _ in .noContent } }) { server in
            let client = try RawClient(port: server.port)
            #expect(try await client.exchange("GET / HTTP/1.1\r\nHost: a\r\n\r\n").status == 204)
            #expect(try await client.sawEnd())
        }
    }

    @Test(arguments: ["GET / HTTP/1.1\r\nX-Slow: ", "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 1000\r\n\r\n"])
    func `a request that never becomes complete is cut off, a handler isn't`(_ begin: String) async throws {
        try await withServer(
            { $0.requestTimeout = .milliseconds(500) },
            routes: { router in
                router.post("/") { _ in .noContent }
                router.get("/slow") { _ in
                    try await Task.sleep(for: .seconds(2))
                    return .text("slow")
                }
            }
        ) { server in
            let patient = try RawClient(port: server.port)
            try await patient.send("GET /slow HTTP/1.1\r\nHost: a\r\n\r\n")
            let trickling = try RawClient(port: server.port)
            try await trickling.send(begin)
            let start = ContinuousClock.now
            await #expect(throws: RawClientError.self) {
                while ContinuousClock.now - start < patience {
                    try await trickling.send("x")
                    try await Task.sleep(for: .milliseconds(50))
                }
            }
            #expect(try await patient.response().text == "slow")
        }
    }

    @Test func `one address has no more connections than it may`() async throws {
        try await withServer({ $0.connectionsPerAddress = 2 }, routes: { $0.get("/") { _ in .noContent } }) { server in
            let get = "GET / HTTP/1.1\r\nHost: a\r\n\r\n"
            let first = try RawClient(port: server.port), second = try RawClient(port: server.port)
            #expect(try await first.exchange(get).status == 204)
            #expect(try await second.exchange(get).status == 204)
            let third = try RawClient(port: server.port)
            #expect(try await third.sawEnd())
            await second.close()
            try await eventually("a place is free") {
                let fourth = try RawClient(port: server.port)
                return (try? await fourth.exchange(get).status) == 204
            }
        }
    }

    @Test func `requests are counted by route, method and status`() async throws {
        let registry = MetricsRegistry()
        try await withServer(
            registry: registry,
            routes: { router in
                router.get("/apps/:app") { _ in .noContent }
                router.post("/apps/:app") { _ in throw Conflict() }
            }
        ) { server in
            for app in ["a", "b", "c"] { _ = try await request(server.port, "GET /apps/\(app)") }
            _ = try await request(server.port, "POST /apps/a", body: "{}")
            _ = try await request(server.port, "GET /secret-path")
        }
        let text = registry.prometheusText()
        #expect(text.contains(#"http_server_requests_total{method="GET",route="/apps/:app",status="204"} 3"#))
        #expect(text.contains(#"http_server_requests_total{method="POST",route="/apps/:app",status="409"} 1"#))
        #expect(text.contains(#"http_server_requests_total{method="GET",route="NotFound",status="404"} 1"#))
        #expect(!text.contains("secret-path"))
    }

    @Test func `requests are logged at debug with their route`() async throws {
        let log = InMemoryLogHandler()
        try await withServer(
            logger: Logger(label: "test", handler: log, logLevel: .debug),
            routes: { $0.get("/apps/:app") { _ in .noContent } }
        ) { server in _ = try await request(server.port, "GET /apps/rchat") }
        let event = try #require(log.events.first { $0.message == "request" })
        #expect(event.level == .debug)
        #expect(event.metadata["http.route"] == "/apps/:app")
        #expect(event.metadata["http.status"] == "204")
    }
}

/// Returns when the task is cancelled.
private func untilCancelled() async {
    let (never, continuation) = AsyncStream.makeStream(of: Never.self)
    for await _ in never {}
    continuation.finish()
}

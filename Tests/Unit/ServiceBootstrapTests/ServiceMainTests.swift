import EventLoop
import HTTPClient
import HTTPServer
import Lifecycle
import Metrics
import ServiceBootstrap
import Testing

@Suite struct ServiceMainTests {
    struct Waiting: Service {
        func run() async throws { try await gracefulShutdown() }
    }

    struct Failing: Service {
        struct Failure: Error {}
        func run() async throws { throw Failure() }
    }

    let main = ServiceMain(name: "test-service", summary: "Tests.", defaultPort: 0, keys: [])
    let loop = EventLoop(name: "client")

    @Test func `a service answers for its health and metrics until it is shut down`() async throws {
        let configuration = try configuration()
        let client = HTTPClient(loop: loop)
        let registry = MetricsRegistry()
        let readiness = Locked<Readiness?>(nil)
        let ports = AsyncStream<Int>.makeStream()
        try await testGracefulShutdown { trigger in
            async let ended: Void = main.run(configuration, registry: registry) { port in
                ports.continuation.yield(port)
            } make: { context in
                context.router.get("/hello") { _ in .text("hello") }
                context.readiness.set("postgres", .notReady("starting"))
                readiness.withLock { [ready = context.readiness] in $0 = ready }
                return [Waiting()]
            }
            let base = "http://127.0.0.1:\(try #require(await ports.stream.first { _ in true }))"

            let live = try await client.send(.init(url: base + "/health/live"))
            #expect(live.status == 200)
            let missing = try await client.send(.init(url: base + "/health/ready"))
            #expect(missing.status == 503)
            #expect(missing.text.contains(#""postgres":{"reason":"starting","status":"notReady"}"#))
            readiness.withLock { $0 }?.set("postgres", .ready)
            let ready = try await client.send(.init(url: base + "/health/ready"))
            #expect(ready.status == 200)
            #expect(ready[header: "Content-Type"] == "application/json")
            #expect(try await client.send(.init(url: base + "/hello")).text == "hello")

            let metrics = try await client.send(.init(url: base + "/metrics"))
            #expect(metrics[header: "Content-Type"]?.hasPrefix("text/plain; version=0.0.4") == true)
            for name in [
                "process_resident_memory_bytes", "process_open_fds", "process_cpu_seconds_total",
                "event_loop_lag_seconds{loop=\"0\"}", "http_server_requests_total{",
            ] {
                #expect(metrics.text.contains("\n\(name)"), "\(name)")
            }
            #expect(!metrics.text.contains("NaN"))

            trigger.triggerGracefulShutdown()
            try await ended
            await #expect(throws: HTTPClientError.self) { try await client.send(.init(url: base + "/hello")) }
        }
    }

    @Test func `a port in use is reported with its number and what to do`() async throws {
        let busy = HTTPServer(
            HTTPServerConfiguration(address: "127.0.0.1", port: 0), router: HTTPRouter(), loops: [loop])
        try await busy.start()
        let port = busy.port
        let configuration = try configuration(["http.port": "\(port)"])
        let failure = await #expect(throws: StartFailure.self) {
            try await main.run(configuration, registry: MetricsRegistry()) { _ in [Waiting()] }
        }
        await busy.stop()
        #expect(failure?.status == .unavailable)
        #expect(failure?.message.contains("port \(port) is in use") == true)
        #expect(failure?.message.contains("PARTITA_HTTP_PORT") == true)
    }

    @Test func `what a service throws ends the process with its error`() async throws {
        let configuration = try configuration()
        let failure = await #expect(throws: StartFailure.self) {
            try await main.run(configuration, registry: MetricsRegistry()) { _ in [Waiting(), Failing()] }
        }
        #expect(failure?.status == .software)
        #expect(failure?.message.contains("Failure") == true)
        let other = await #expect(throws: StartFailure.self) {
            try await main.run(configuration, registry: MetricsRegistry()) { _ in
                throw ConfigurationError(key: "a.key", "doesn't go with b.key")
            }
        }
        #expect(other?.status == .configuration)
        #expect(other?.message == "configuration: a.key: doesn't go with b.key")
    }

    @Test func `the command line takes a file and asks for help`() throws {
        #expect(try ServiceArguments(["--config", "a.conf"]).configurationFile == "a.conf")
        #expect(try ServiceArguments(["--config=a.conf"]).configurationFile == "a.conf")
        #expect(try ServiceArguments(["--help"]).help == .text)
        #expect(try ServiceArguments(["--help=markdown"]).help == .markdown)
        for arguments in [["--config"], ["--config="], ["--unknown"], ["file"]] {
            let failure = #expect(throws: StartFailure.self) { try ServiceArguments(arguments) }
            #expect(failure?.status == .usage)
        }
    }

    private func configuration(_ values: [String: String] = [:]) throws -> Configuration {
        try Configuration(
            keys: main.allKeys,
            fileValues: ["http.address": "127.0.0.1", "loops": "1", "http.port": "0"].merging(values) { $1 })
    }
}

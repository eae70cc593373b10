import EventLoop
import HTTPServer
import Logging
import Metrics
import Testing

/// Loops that all tests of this target share.
let testLoops = LoopGroup(2, name: "http-test")

/// A server on a free port of 127.0.0.1, stopped when the body has returned.
func withServer<Result>(
    loops: [EventLoop] = [testLoops.next()], registry: MetricsRegistry = MetricsRegistry(),
    logger: Logger = Logger(label: "test", handler: InMemoryLogHandler()),
    _ configure: (inout HTTPServerConfiguration) -> Void = { _ in }, routes: (inout HTTPRouter) -> Void,
    _ body: (HTTPServer) async throws -> Result
) async throws -> Result {
    var configuration = HTTPServerConfiguration(address: "127.0.0.1", port: 0)
    configuration.drainTimeout = .seconds(5)
    configure(&configuration)
    var router = HTTPRouter()
    routes(&router)
    let server = HTTPServer(configuration, router: router, loops: loops, logger: logger, registry: registry)
    try await server.start()
    do {
        let result = try await body(server)
        await server.stop(drainingFor: .zero)
        return result
    } catch {
        await server.stop(drainingFor: .zero)
        throw error
    }
}

/// How long a test waits for what must happen: long, since it tests whether it happens, not how fast, even on a busy machine.
let patience = Duration.seconds(60)

/// Waits until a condition holds.
func eventually(
    _ what: Comment, sourceLocation: SourceLocation = #_sourceLocation,
    _ condition: () async throws -> Bool
) async throws {
    let deadline = ContinuousClock.now + patience
    while try await !condition() {
        guard ContinuousClock.now < deadline else {
            Issue.record(what, sourceLocation: sourceLocation)
            return
        }
        try await Task.sleep(for: .milliseconds(2))
    }
}

/// A value that tests share with callbacks.
final class Box<Value: Sendable>: Sendable {
    private let state: Locked<Value>
    init(_ value: Value) { state = Locked(value) }
    var value: Value { state.withLock { $0 } }
    func update(_ change: @Sendable (inout Value) -> Void) { state.withLock { change(&$0) } }
}

/// A gate that opens once; tasks that wait then continue.
final class Gate: Sendable {
    private let state = Locked<(isOpen: Bool, waiters: [CheckedContinuation<Void, Never>])>((false, []))

    func open() {
        let waiters = state.withLock { state in
            state.isOpen = true
            defer { state.waiters = [] }
            return state.waiters
        }
        for waiter in waiters { waiter.resume() }
    }

    func wait() async {
        await withCheckedContinuation { continuation in
            let isOpen = state.withLock { state in
                if !state.isOpen { state.waiters.append(continuation) }
                return state.isOpen
            }
            if isOpen { continuation.resume() }
        }
    }
}

extension Box {
    /// A value that a callback stores.
    func present<Wrapped>() async throws -> Wrapped where Value == Wrapped? {
        try await eventually("something is there") { value != nil }
        return try #require(value)
    }
}

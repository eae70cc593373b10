import EventLoop
import Lifecycle
import Logging
import Metrics

/// A server for HTTP/1.1 and WebSockets on one port, based on libmicrohttpd, on several event loops.
///
/// ```swift
/// var router = HTTPRouter()
/// router.get("/apps/:app") { request in .text(try request.parameters.require("app")) }
/// let server = HTTPServer(HTTPServerConfiguration(port: 8080), router: router, loops: loops, logger: logger)
/// try await server.run()
/// ```
/// A daemon runs on each loop, and the kernel distributes connections among them. TLS and HTTP/2 are the task of a proxy in front.
public final class HTTPServer: Service, CustomStringConvertible {
    private enum State {
        case idle
        case starting
        case running(port: Int)
        case stopped
    }

    private let configuration: HTTPServerConfiguration
    private let listeners: [HTTPListener]
    private let logger: Logger
    private let state = Locked(State.idle)

    /// Creates a server. It opens no socket before ``start()`` or ``run()``.
    ///
    /// - Parameters:
    ///   - router: the routes; later changes of the router have no effect.
    ///   - loops: the loops that serve connections; they must outlive the server.
    ///   - logger: logs requests at debug level, failed ones at error level.
    ///   - registry: the registry for the server's metrics.
    public init(
        _ configuration: HTTPServerConfiguration = HTTPServerConfiguration(), router: HTTPRouter, loops: [EventLoop],
        logger: Logger = Logger(label: "http-server"), registry: MetricsRegistry = .shared
    ) {
        precondition(!loops.isEmpty, "a server needs a loop")
        self.configuration = configuration
        self.logger = logger
        let pipeline = RequestPipeline(router: router, cors: configuration.cors, logger: logger, registry: registry)
        let bodies = InflightBudget(limit: configuration.bodiesBytes)
        let answers = InflightBudget(limit: configuration.answersBytes)
        listeners = loops.map {
            HTTPListener(
                $0, configuration: configuration, pipeline: pipeline, bodies: bodies, answers: answers, logger: logger,
                registry: registry)
        }
    }

    /// The port on which it listens; before ``start()`` the configured one.
    public var port: Int {
        state.withLock { state in
            if case .running(let port) = state { return port }
            return configuration.port
        }
    }

    public var description: String { "HTTPServer(\(configuration.address):\(port))" }

    /// Listens and serves until a graceful shutdown begins, then drains: it accepts no new connections, finishes running requests,
    /// and closes WebSockets with ``HTTPServerConfiguration/drainCloseCode``, for at most ``HTTPServerConfiguration/drainTimeout``.
    /// Cancelling the task stops without draining.
    ///
    /// A server that ``start()`` has started continues running.
    /// - Throws: ``HTTPServerError``.
    public func run() async throws {
        if !isRunning { try await start() }
        do {
            try await gracefulShutdown()
        } catch is CancellationError {
            await stop(drainingFor: .zero)
            throw CancellationError()
        }
        await stop()
    }

    /// Listens and serves; returns when connections are accepted. The caller must then call ``stop(drainingFor:)`` or ``run()``.
    ///
    /// - Throws: ``HTTPServerError`` `portInUse`, `cannotListen`, or `alreadyStarted`: a server can be started only once.
    public func start() async throws {
        let isFirst = state.withLock { state in
            guard case .idle = state else { return false }
            state = .starting
            return true
        }
        guard isFirst else { throw HTTPServerError(.alreadyStarted, "the server was started before") }
        do {
            let (descriptors, port) = try ListeningSocket.open(
                address: configuration.address, port: configuration.port, count: listeners.count)
            try await listen(on: descriptors)
            state.withLock { $0 = .running(port: port) }
            logger.notice("listening", metadata: ["address": "\(configuration.address)", "port": "\(port)"])
        } catch {
            state.withLock { $0 = .stopped }
            throw error
        }
    }

    /// Drains for the given time, or ``HTTPServerConfiguration/drainTimeout``, then closes everything that is left. Does nothing if
    /// the server doesn't run.
    public func stop(drainingFor timeout: Duration? = nil) async {
        let wasRunning = state.withLock { state in
            guard case .running = state else { return false }
            state = .stopped
            return true
        }
        guard wasRunning else { return }
        let timeout = timeout ?? configuration.drainTimeout
        configuration.onDrain()
        await withDiscardingTaskGroup { group in
            for listener in listeners {
                group.addTask {
                    if timeout > .zero { await listener.drain(within: timeout) }
                    await listener.stop()
                }
            }
        }
        logger.notice("stopped", metadata: ["address": "\(configuration.address)"])
    }

    private var isRunning: Bool {
        state.withLock { state in
            if case .running = state { return true }
            return false
        }
    }

    private func listen(on descriptors: [Int32]) async throws {
        var failure: (any Error)?
        for (listener, descriptor) in zip(listeners, descriptors) {
            // Continue after a failure, since each listener has to close its descriptor.
            do { try await listener.start(descriptor) } catch { failure = failure ?? error }
        }
        guard let failure else { return }
        for listener in listeners { await listener.stop() }
        throw failure
    }
}

import Cmicrohttpd
import EventLoop
import Glibc
import Logging
import Metrics
import WebSocket

/// The part of a server that runs on one loop: a libmicrohttpd daemon without a thread of its own. The loop watches its epoll
/// descriptor and calls `MHD_run`. While a handler waits, its connection is suspended, so the loop never blocks.
actor HTTPListener: LoopActor {
    nonisolated let loop: EventLoop
    private let configuration: HTTPServerConfiguration
    let pipeline: RequestPipeline
    private let bodies: InflightBudget
    private let answers: InflightBudget
    let logger: Logger
    private let openWebSockets: Gauge
    private var daemon: OpaquePointer?
    private var log: DaemonLog?
    private var watcher: FDWatcher?
    private var timer: LoopTimer?
    private var isRunQueued = false
    private var awaitsTask = false
    private(set) var isDraining = false
    private var isStopping = false
    private var exchanges: [HTTPExchange] = []
    private var deadlines: RequestDeadlines
    private let lingering: LingeringConnections
    private var webSockets: [ObjectIdentifier: WebSocket] = [:]
    private var drained: CheckedContinuation<Void, Never>?
    private var drainTimer: LoopTimer?

    init(
        _ loop: EventLoop, configuration: HTTPServerConfiguration, pipeline: RequestPipeline, bodies: InflightBudget,
        answers: InflightBudget, logger: Logger, registry: MetricsRegistry
    ) {
        self.loop = loop
        self.configuration = configuration
        self.pipeline = pipeline
        self.bodies = bodies
        self.answers = answers
        self.logger = logger
        deadlines = RequestDeadlines(limit: configuration.requestTimeout.milliseconds)
        lingering = LingeringConnections(loop)
        openWebSockets = Gauge(label: "http_server_websockets", help: "WebSockets open", registry: registry)
    }

    /// Serves connections of a listening socket, which the listener owns from here on, even if this throws.
    func start(_ descriptor: Int32) throws {
        let log = DaemonLog(logger)
        let idleSeconds = UInt32(clamping: max(1, configuration.idleTimeout.components.seconds))
        daemon = cmhd_start(
            descriptor, Self.accessCallback, Self.targetCallback, Self.completedCallback, Self.connectionCallback,
            Unmanaged.passUnretained(self).toOpaque(), log.pointer, configuration.connectionBytes, idleSeconds,
            UInt32(clamping: configuration.connections), UInt32(clamping: configuration.connectionsPerAddress ?? 0))
        guard let daemon else {
            let code = errno
            close(descriptor)
            throw HTTPServerError(.cannotListen, "libmicrohttpd: \(String(cString: strerror(code)))")
        }
        self.log = log
        do {
            watcher = try FDWatcher(loop, fd: cmhd_epoll_fd(daemon)) { [unowned self] _ in assumeIsolated { $0.run() } }
        } catch {
            MHD_stop_daemon(daemon)
            self.daemon = nil
            throw HTTPServerError(.cannotListen, "\(error)")
        }
        watcher?.set(.read)
        // For libmicrohttpd's own timeouts, and for the deadlines of requests.
        timer = LoopTimer(loop) { [unowned self] in assumeIsolated { $0.checkDeadlines() } }
        timer?.start(ms: 1000, every: 1000)
    }

    // MARK: Stopping

    /// Stops accepting connections, and returns when no request runs and no WebSocket is open, or after the timeout.
    func drain(within timeout: Duration) async {
        guard let daemon, !isDraining else { return }
        // Connections in the listening socket's queue are already established, so they are still served.
        run()
        isDraining = true
        let listening = MHD_quiesce_daemon(daemon)
        if listening >= 0 { close(listening) }
        for socket in webSockets.values { socket.close(configuration.drainCloseCode, reason: "the server stops") }
        await withCheckedContinuation { continuation in
            drained = continuation
            drainTimer = LoopTimer(loop) { [unowned self] in assumeIsolated { $0.endDrain() } }
            drainTimer?.start(ms: timeout.milliseconds)
            // The last request may have ended before this closure ran.
            endDrainIfIdle()
        }
    }

    private func endDrain() {
        drainTimer?.close()
        drainTimer = nil
        drained?.resume()
        drained = nil
    }

    private func endDrainIfIdle() {
        if exchanges.isEmpty, webSockets.isEmpty { endDrain() }
    }

    /// Stops immediately: running requests are answered with 503 and their tasks cancelled, and WebSockets are reset.
    func stop() {
        guard let daemon else { return }
        isDraining = true
        isStopping = true
        for socket in webSockets.values { socket.terminate() }
        for exchange in exchanges {
            exchange.task?.cancel()
            exchange.stream?.abandon()
            if case .running = exchange.phase { exchange.phase = .answered(HTTPError.unavailable.response) }
            // libmicrohttpd must not be stopped with suspended connections.
            _ = exchange.resume()
        }
        run()
        watcher?.close()
        watcher = nil
        timer?.close()
        timer = nil
        self.daemon = nil
        MHD_stop_daemon(daemon)
        lingering.closeAll()
        log = nil
        endDrain()
    }

    // MARK: Running the daemon

    private func run() {
        guard let daemon else { return }
        var wait: UInt64 = 0
        // There may be work that no descriptor signals: a resumed connection.
        for _ in 0..<8 {
            MHD_run(daemon)
            // Tasks that were just created run before the next `MHD_run`.
            if awaitsTask { break }
            guard MHD_get_timeout(daemon, &wait) == .YES, wait == 0 else { return }
        }
        awaitsTask = false
        runSoon()
    }

    private func checkDeadlines() {
        deadlines.closeLate(now: loop.now)
        lingering.closeLate(now: loop.now)
        resetSlow()
        cancelForLeft()
        run()
    }

    /// Cancels handlers and streams whose clients have disconnected, since libmicrohttpd doesn't check suspended connections. Streams end
    /// also when a client has only ended its sending: nothing can be sent between their bytes to learn more.
    private func cancelForLeft() {
        let waiting = exchanges.filter(\.isSuspended)
        if waiting.isEmpty { return }
        var polled = waiting.map { pollfd(fd: $0.carrier?.descriptor ?? -1, events: Int16(cmhd_hung_up), revents: 0) }
        guard poll(&polled, nfds_t(polled.count), 0) > 0 else { return }
        for (exchange, entry) in zip(waiting, polled) where entry.revents != 0 {
            let isGone = entry.revents & Int16(POLLHUP | POLLERR | POLLNVAL) != 0
            if !isGone, exchange.stream == nil, mayStillReceive(exchange, entry.fd) { continue }
            exchange.task?.cancel()
            guard let stream = exchange.stream else { continue }
            stream.abandon()
            _ = exchange.resume()
        }
    }

    /// Whether a client that sends nothing more may still wait for its response. TCP says the same of one that has only ended its sending, as
    /// `nc -N` does, and of one that is gone, until something is sent to it: a client that is gone answers that with a reset, which the next
    /// check sees. Any client of HTTP/1.1 ignores an interim response (RFC 9110, 15.2.1).
    private func mayStillReceive(_ exchange: HTTPExchange, _ descriptor: Int32) -> Bool {
        if exchange.isProbed { return true }
        guard exchange.takesInterim else { return false }
        let probe = Array("HTTP/1.1 100 Continue\r\n\r\n".utf8)
        let count = Glibc.send(descriptor, probe, probe.count, Int32(MSG_NOSIGNAL) | Int32(MSG_DONTWAIT))
        exchange.isProbed = count == probe.count
        // If it has yet to take the responses to earlier requests, it is asked later. A part of a line mustn't be followed by a response.
        if count > 0, count < probe.count { cmhd_end(descriptor) }
        return count == probe.count || count < 0 && (errno == EAGAIN || errno == EINTR)
    }

    /// Resets the connections of clients that take their responses too slowly. What waits in the kernel's buffer is dropped, too;
    /// libmicrohttpd notices the end and closes the connection.
    private func resetSlow() {
        let window = configuration.sendTimeout.milliseconds
        for exchange in exchanges where exchange.progress?.isTooSlow(now: loop.now, window: window) == true {
            guard let carrier = exchange.carrier else { continue }
            var option = linger(l_onoff: 1, l_linger: 0)
            setsockopt(carrier.descriptor, SOL_SOCKET, SO_LINGER, &option, socklen_t(MemoryLayout<linger>.size))
            cmhd_end(carrier.descriptor)
        }
    }

    func runSoon() {
        if isRunQueued { return }
        isRunQueued = true
        loop.execute { [self] in
            assumeIsolated {
                $0.isRunQueued = false
                $0.run()
            }
        }
    }

    // MARK: Requests

    func connected(_ carrier: RequestDeadlines.Connection) { deadlines.add(carrier, now: loop.now) }

    /// Called before libmicrohttpd closes the socket.
    func disconnected(_ carrier: RequestDeadlines.Connection) {
        deadlines.remove(carrier)
        if let limit = carrier.refusedBodyLimit { lingering.add(carrier.descriptor, bodyLimit: limit) }
    }

    private func carrier(of connection: OpaquePointer?) -> RequestDeadlines.Connection? {
        guard let raw = connection.flatMap({ cmhd_socket_context($0) }) else { return nil }
        return Unmanaged<RequestDeadlines.Connection>.fromOpaque(raw).takeUnretainedValue()
    }

    /// Called when the request line is received.
    func began(_ target: UnsafePointer<CChar>, _ connection: OpaquePointer?) -> UnsafeMutableRawPointer {
        let exchange = HTTPExchange(
            connection, carrier: carrier(of: connection), target: String(cString: target),
            targetAddress: UInt(bitPattern: target))
        exchange.position = exchanges.count
        exchanges.append(exchange)
        return Unmanaged.passRetained(exchange).toOpaque()
    }

    /// Called when the response is sent, or the connection is lost.
    func ended(_ exchange: HTTPExchange) {
        deadlines.waits(exchange.carrier, now: loop.now)
        exchange.connection = nil
        exchange.isSuspended = false
        exchange.task?.cancel()
        exchange.task = nil
        exchange.stream?.abandon()
        exchange.stream = nil
        giveBack(exchange)
        let last = exchanges.removeLast()
        if last !== exchange {
            exchanges[exchange.position] = last
            last.position = exchange.position
        }
        if isDraining { endDrainIfIdle() }
    }

    /// libmicrohttpd calls this when the head is received, for each piece of the body, when the body is complete, and after a
    /// resume.
    func access(
        _ exchange: HTTPExchange, method: UnsafePointer<CChar>?, version: UnsafePointer<CChar>?,
        _ piece: UnsafeRawBufferPointer
    ) -> MHD_Result {
        switch exchange.phase {
        case .head:
            guard let method, let version else { return .NO }
            return begin(exchange, method: method, version: version)
        case .body:
            if piece.isEmpty { return dispatch(exchange) }
            guard let error = collect(piece, exchange) else { return .YES }
            return interrupt(exchange, error)
        case .running:
            exchange.suspend()
            return .YES
        case .answered(let response): return send(response, exchange)
        // libmicrohttpd has a response already.
        case .sent: return .NO
        }
    }

    private func begin(
        _ exchange: HTTPExchange, method: UnsafePointer<CChar>, version: UnsafePointer<CChar>
    ) -> MHD_Result {
        guard let connection = exchange.connection else { return .NO }
        guard !isStopping else { return refuse(exchange, .unavailable) }
        let head: RequestHead
        do throws(HTTPError) {
            head = try RequestHead(
                connection, method: method, target: exchange.target, targetAddress: exchange.targetAddress,
                version: version, maxHeaders: configuration.headerCount, maxBytes: configuration.headBytes)
        } catch {
            return refuse(exchange, error)
        }
        exchange.takesInterim = String(cString: version) == "HTTP/1.1"
        let origin = configuration.trustedProxies.origin(
            peer: RemoteAddress(cmhd_peer(connection)), headers: head.headers)
        exchange.client = origin.address
        var request = HTTPRequest(
            method: head.method, target: exchange.target, headers: head.headers, remoteAddress: origin.address,
            scheme: origin.scheme, loop: loop)
        let routed = pipeline.route(head.method, request.path)
        request.parameters = routed.parameters
        request.route = routed.template
        exchange.routed = routed
        exchange.request = request
        exchange.bodyLimit = routed.bodyLimit ?? configuration.bodyBytes
        // Refuse before the client sends the body: it may be waiting for 100 Continue.
        if let length = head.contentLength, length > exchange.bodyLimit {
            return refuse(exchange, .bodyTooLarge(exchange.bodyLimit))
        }
        if head.expectsContinue, routed.isRefusal { return refuse(exchange, .notFound) }
        if let length = head.contentLength { exchange.request?.body.reserveCapacity(min(length, 64 << 10)) }
        exchange.phase = .body
        return .YES
    }

    /// Adds a piece to the body, or says why the body is refused.
    private func collect(_ piece: UnsafeRawBufferPointer, _ exchange: HTTPExchange) -> HTTPError? {
        let count = (exchange.request?.body.count ?? 0) + piece.count
        if count > exchange.bodyLimit { return .bodyTooLarge(exchange.bodyLimit) }
        let counted = max(0, count - InflightBudget.uncounted) - exchange.bodyBytes
        if counted > 0, let network = exchange.client?.network {
            if let refusal = bodies.take(counted, of: network) { return .tooManyBodies(refusal) }
            exchange.bodyBytes += counted
        }
        exchange.request?.body.append(contentsOf: piece)
        return nil
    }

    private func giveBack(_ exchange: HTTPExchange) {
        guard let network = exchange.client?.network else { return }
        if exchange.bodyBytes > 0 { bodies.giveBack(exchange.bodyBytes, of: network) }
        if exchange.answerBytes > 0 { answers.giveBack(exchange.answerBytes, of: network) }
        exchange.bodyBytes = 0
        exchange.answerBytes = 0
    }

    /// Takes a large response from the budget until it is sent; if the budget has no room for it, returns an error instead of it.
    func affordable(_ response: HTTPResponse, _ exchange: HTTPExchange) -> HTTPResponse {
        guard case .bytes(let bytes) = response.body, let network = exchange.client?.network else { return response }
        // One that is larger than the budget couldn't be sent ever.
        let counted = min(bytes.count - InflightBudget.uncounted, configuration.answersBytes / 2)
        guard counted > 0, exchange.request?.method != .head else { return response }
        guard let refusal = answers.take(counted, of: network) else {
            exchange.answerBytes = counted
            return response
        }
        let error = HTTPError.tooManyAnswers(refusal)
        pipeline.recordRefusal(status: error.status, exchange.routed, from: exchange.client ?? .unknown)
        return error.response
    }

    private func dispatch(_ exchange: HTTPExchange) -> MHD_Result {
        guard let request = exchange.request, let routed = exchange.routed else { return .NO }
        // The task has a copy of the body; the head is still needed for an upgrade.
        exchange.request?.body = []
        exchange.phase = .running
        deadlines.answers(exchange.carrier)
        exchange.task = Task.immediate(executorPreference: loop.taskExecutor) {
            let response = await self.pipeline.respond(to: request, routed)
            self.completed(exchange, response)
        }
        // The connection isn't suspended yet: libmicrohttpd calls `access` again in its next run, and most handlers have answered
        // by then. Suspending and resuming would cost two system calls.
        awaitsTask = true
        return .YES
    }

    private func completed(_ exchange: HTTPExchange, _ response: HTTPResponse) {
        // It was stopped meanwhile, which has set another response.
        guard case .running = exchange.phase else { return }
        exchange.phase = .answered(response)
        exchange.task = nil
        _ = exchange.resume()
        runSoon()
    }

    /// Answers instead of a handler, and closes the connection, since its body isn't read.
    private func refuse(_ exchange: HTTPExchange, _ error: HTTPError) -> MHD_Result {
        send(refusal(of: exchange, error), exchange)
    }

    /// Answers while the body is received. libmicrohttpd takes a response only before a body or after it, and a client may send its
    /// body for long, or without end.
    private func interrupt(_ exchange: HTTPExchange, _ error: HTTPError) -> MHD_Result {
        let response = refusal(of: exchange, error)
        exchange.phase = .answered(response)
        giveBack(exchange)
        if let connection = exchange.connection { sendDirectly(response, on: cmhd_socket(connection)) }
        return .NO
    }

    private func refusal(of exchange: HTTPExchange, _ error: HTTPError) -> HTTPResponse {
        deadlines.answers(exchange.carrier)
        exchange.carrier?.refusedBodyLimit = exchange.bodyLimit
        let address = exchange.client ?? RemoteAddress(exchange.connection.flatMap { cmhd_peer($0) })
        pipeline.recordRefusal(status: error.status, exchange.routed, from: address)
        if var request = exchange.request {
            request.body = []
            exchange.request = request
            pipeline.tellObservers(of: request, error)
        }
        var response = error.response
        response.headers["Connection"] = "close"
        return response
    }

    // MARK: Streams

    func write(_ bytes: [UInt8], to stream: ResponseStream) async throws {
        guard !stream.isClosed else { throw HTTPServerError(.connectionClosed, "the connection is gone") }
        stream.append(bytes)
        if stream.exchange.resume() { runSoon() }
        while stream.isFull { await withCheckedContinuation { stream.wait($0) } }
        guard !stream.isClosed else { throw HTTPServerError(.connectionClosed, "the connection is gone") }
    }

    func finish(_ stream: ResponseStream, failed: Bool) {
        stream.close(failed: failed)
        if stream.exchange.resume() { runSoon() }
    }

    // MARK: WebSockets

    var hasRoomForWebSocket: Bool { webSockets.count < configuration.webSockets && !isDraining }

    func opened(_ socket: WebSocket) {
        webSockets[ObjectIdentifier(socket)] = socket
        openWebSockets.increment()
        socket.onEnd = { [unowned self] socket in
            let id = ObjectIdentifier(socket)
            assumeIsolated { $0.closed(id) }
        }
    }

    private func closed(_ id: ObjectIdentifier) {
        webSockets[id] = nil
        openWebSockets.decrement()
        if isDraining { endDrainIfIdle() }
    }
}

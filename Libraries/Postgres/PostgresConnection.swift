private import Clibpq
public import EventLoop
import Logging

/// One connection, on the loop of its socket.
///
/// It uses libpq in non-blocking pipeline mode: statements are passed to the kernel together at the end of the loop's turn, in the
/// order of the calls, and answered in that order; a statement is sent without waiting for the answers to those before it.
/// Statements are prepared at their first use and cached by their SQL (a bounded number; the least recently used one is dropped).
///
/// Every call ends with a Sync, and returns after the server has answered it: statements outside an explicit transaction are then
/// committed. Cancelling the task cancels the statement on the server if it is currently running, and throws `CancellationError`.
/// `close` must be called; a `PostgresClient` does that for its connections.
public actor PostgresConnection: LoopActor, TickFlushable {
    public nonisolated let loop: EventLoop
    let configuration: PostgresConfiguration
    let logger: Logger
    var handle: OpaquePointer?
    var statements: StatementCache
    var encoder = ParameterEncoder()
    var pending = PendingQueue()
    var mode = Mode.pipeline
    /// The caller that waits for the socket outside of pipeline mode.
    var readiness: UnsafeContinuation<Void, Never>?
    var notifications: [PostgresNotification] = []
    /// Behind a lock, so that beginning a transaction needs no turn of the loop.
    nonisolated let phase = Locked(TransactionPhase.none)
    /// Why the transaction has failed, if a statement of it has.
    var transactionFailure: PostgresError?
    var cursors = 0
    var cancelsInFlight = 0
    var finishedWhileCancelling: [StatementGroup] = []
    /// Since when, by the loop's clock, a cancel request is under way.
    var cancellingSince: UInt64?
    /// Those that wait until no cancel request is under way.
    var cancelWaiters: [UnsafeContinuation<Void, Never>] = []
    private var watcher: FDWatcher?
    private var connecting: UnsafeContinuation<Void, any Error>?
    private var connectTimer: LoopTimer?
    private var watchdog: LoopTimer?
    private var isWatching = false
    private var isDirty = false
    /// When it was connected, by the loop's clock.
    private(set) var connectedAt: UInt64 = 0
    /// Whether another session would have other settings.
    var isOutdated = false
    private var closeError: PostgresError?
    private var closeWaiters: [UnsafeContinuation<Void, Never>] = []

    enum Mode { case connecting, pipeline, copy, listening, closed }

    /// Creates a connection, which isn't opened before `connect`.
    // Swift 6.3 with -O fails to read this body from another module: "circular reference".
    @_semantics("optimize.no.crossmodule")
    public init(configuration: PostgresConfiguration, on loop: EventLoop, logger: Logger = Logger(label: "postgres")) {
        self.loop = loop
        self.configuration = configuration
        self.logger = logger
        statements = StatementCache(capacity: configuration.statementCacheSize)
        mode = .connecting
    }

    isolated deinit { shutDown(PostgresError(.closed, "the connection was released")) }

    // MARK: Connecting

    /// Connects and logs in, within the configuration's `connectTimeout`.
    public func connect() async throws { try await connect(mode: .pipeline) }

    func connect(mode next: Mode) async throws {
        let parameters = try ConnectionParameters(configuration)
        // Resolving a host's name blocks, so the start is made off the loop. (Of several hosts, the later ones resolve on it.)
        let started = await parameters.start()
        guard mode == .connecting else {
            PQfinish(started.pointer)
            throw closeError ?? PostgresError(.closed, "closed while connecting")
        }
        handle = started.pointer
        guard PQstatus(handle) != CONNECTION_BAD else { throw connectFailure() }
        PQsetNoticeReceiver(handle, { _, _ in }, nil)  // the default prints to stderr
        try await withTaskCancellationHandler {
            try await withUnsafeThrowingContinuation { (continuation: UnsafeContinuation<Void, any Error>) in
                // Getting here may have taken a turn of the loop (as in every such closure below), so the state is checked again.
                guard mode == .connecting else {
                    return continuation.resume(
                        throwing: closeError ?? PostgresError(.closed, "closed while connecting"))
                }
                connecting = continuation
                let timer = LoopTimer(loop) { [weak self] in
                    self?.assumeIsolated { $0.failConnecting(PostgresError(.connectionFailed, "no answer in time")) }
                }
                connectTimer = timer
                timer.start(ms: configuration.connectTimeout.milliseconds)
                if Task.isCancelled { failConnecting(CancellationError()) } else { watch(.write) }
            }
        } onCancel: {
            loop.execute { self.assumeIsolated { $0.failConnecting(CancellationError()) } }
        }
        guard PQsetnonblocking(handle, 1) == 0, next != .pipeline || PQenterPipelineMode(handle) == 1 else {
            throw connectFailure()
        }
        mode = next
        connectedAt = loop.now
        watch(.read)
    }

    private func continueConnecting() {
        // libpq may close its socket and open another one under the same number.
        watcher?.close()
        watcher = nil
        switch PQconnectPoll(handle) {
        case PGRES_POLLING_READING: watch(.read)
        case PGRES_POLLING_WRITING: watch(.write)
        case PGRES_POLLING_OK:
            connectTimer?.close()
            connectTimer = nil
            let continuation = connecting
            connecting = nil
            continuation?.resume()
        default: failConnecting(nil)
        }
    }

    private func failConnecting(_ error: (any Error)?) {
        guard let continuation = connecting else { return }
        connecting = nil
        let failure = connectFailure()
        continuation.resume(throwing: error ?? failure)
    }

    /// Closes the connection, and returns the reason why it couldn't be opened.
    private func connectFailure() -> PostgresError {
        let error = PostgresError(.connectionFailed, lastMessage)
        shutDown(error)
        return error
    }

    // MARK: The socket

    func watch(_ interest: FDWatcher.Interest) {
        if watcher == nil {
            do {
                watcher = try FDWatcher(loop, fd: PQsocket(handle)) { [weak self] interest in
                    self?.assumeIsolated { $0.isReady(interest) }
                }
            } catch {
                lose(PostgresError(.connectionLost, "can't watch the socket", underlying: error))
                return
            }
        }
        watcher?.set(interest)
    }

    private func isReady(_ interest: FDWatcher.Interest) {
        switch mode {
        case .connecting: continueConnecting()
        case .pipeline:
            if interest.contains(.read) { receive() }
            if interest.contains(.write) { flush() }
        case .copy, .listening:
            // Level triggered: until the data is read, it would be reported at every turn.
            watcher?.set([])
            let waiting = readiness
            readiness = nil
            waiting?.resume()
        case .closed: break
        }
    }

    func markDirty() {
        if isDirty { return }
        isDirty = true
        loop.markDirty(self)
    }

    public nonisolated func flushTick() {
        assumeIsolated {
            $0.isDirty = false
            $0.flush()
        }
    }

    private func flush() {
        guard mode == .pipeline, let handle else { return }
        switch PQflush(handle) {
        case 0: watcher?.set(.read)
        case 1: watcher?.set([.read, .write])
        default: lose(PostgresError(.connectionLost, lastMessage))
        }
    }

    // MARK: A server that doesn't answer

    /// Checks twice a second whether the group at the head is answered in time, as long as there is one.
    func watchAnswers() {
        guard !isWatching, let limit = configuration.answerTimeout else { return }
        isWatching = true
        let timer =
            watchdog ?? LoopTimer(loop) { [weak self] in self?.assumeIsolated { $0.checkAnswers(limit.milliseconds) } }
        watchdog = timer
        timer.start(ms: 500, every: 500)
    }

    private func checkAnswers(_ limit: UInt64) {
        // A cancel request needs a connection of its own, which a firewall may swallow, and statements wait for its end.
        guard let since = pending.headSince ?? cancellingSince else {
            isWatching = false
            watchdog?.stop()
            return
        }
        if loop.now > since &+ limit { lose(PostgresError(.timeout, "no answer in time")) }
    }

    // MARK: Closing

    /// Ends the connection; statements that aren't answered fail with ``PostgresError/Code/connectionLost``.
    public func close() { shutDown(PostgresError(.closed, "the connection was closed")) }

    /// Returns when the connection has ended, and throws the cause unless it was `close`.
    public func waitUntilClosed() async throws {
        await withUnsafeContinuation { (continuation: UnsafeContinuation<Void, Never>) in
            if mode == .closed { continuation.resume() } else { closeWaiters.append(continuation) }
        }
        if let closeError, closeError.code != .closed { throw closeError }
    }

    public var isClosed: Bool { mode == .closed }

    func lose(_ error: PostgresError) {
        guard mode != .closed else { return }
        shutDown(error)
    }

    var lastMessage: String {
        guard let handle, let text = PQerrorMessage(handle) else { return "no connection" }
        var message = String(cString: text)
        while message.last?.isWhitespace == true { message.removeLast() }
        return message
    }

    /// Why nothing can be sent now.
    var unusable: PostgresError {
        switch mode {
        case .copy, .listening: PostgresError(.busy, "the connection is in a COPY or listens")
        case .connecting: PostgresError(.closed, "not connected")
        default: PostgresError(.closed, "the connection is closed", underlying: closeError)
        }
    }

    private func shutDown(_ error: PostgresError) {
        guard mode != .closed else { return }
        let wasConnecting = connecting
        mode = .closed
        closeError = error
        connecting = nil
        // Before PQfinish closes the descriptor, whose number may then be reused at once.
        watcher?.close()
        watcher = nil
        connectTimer?.close()
        connectTimer = nil
        watchdog?.close()
        watchdog = nil
        if let handle { PQfinish(handle) }
        handle = nil
        let lost = error.code == .closed ? PostgresError(.connectionLost, error.message) : error
        for group in pending.removeAll() { finish(group, lost: lost) }
        // A cancel request that is still under way can't stop anything any more.
        resumeCancelWaiters()
        readiness?.resume()
        readiness = nil
        wasConnecting?.resume(throwing: error)
        for waiter in closeWaiters { waiter.resume() }
        closeWaiters = []
    }
}

extension Duration {
    /// Whole milliseconds, rounded up, never negative.
    var milliseconds: UInt64 {
        let (seconds, attoseconds) = components
        if seconds < 0 { return 0 }
        return UInt64(seconds) * 1000 + UInt64((attoseconds + 999_999_999_999_999) / 1_000_000_000_000_000)
    }
}

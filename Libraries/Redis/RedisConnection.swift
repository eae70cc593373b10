public import EventLoop

/// One connection, on the loop of its socket: commands of any number of tasks are sent together at the end of the loop's turn.
/// `close` must be called; a `RedisClient` does that for its connections.
public actor RedisConnection: LoopActor {
    public nonisolated let loop: EventLoop
    private let configuration: RedisConfiguration
    private var link: HiredisLink?
    private var connecting: UnsafeContinuation<Void, any Error>?
    private var connectTimer: LoopTimer?
    private var watchdog: LoopTimer?
    private var isWatching = false
    private var isClosed = false
    private var closeError: RedisError?
    private var closeWaiters: [UnsafeContinuation<Void, Never>] = []

    /// Creates a connection, which isn't opened before `connect`.
    public init(configuration: RedisConfiguration, on loop: EventLoop) {
        self.configuration = configuration
        self.loop = loop
    }

    // MARK: Connecting and closing

    /// Connects and signs in, within the configuration's `connectTimeout`, which covers resolving the name.
    public func connect() async throws {
        try await withTaskCancellationHandler {
            do {
                try await withUnsafeThrowingContinuation { (continuation: UnsafeContinuation<Void, any Error>) in
                    begin(continuation)
                }
            } catch {
                shutDown(error as? RedisError ?? RedisError(.connectionFailed, "\(error)"))
                throw error
            }
            try await signIn()
            connectTimer?.close()
            connectTimer = nil
        } onCancel: {
            loop.execute { self.assumeIsolated { $0.shutDown(RedisError(.closed, "cancelled while connecting")) } }
        }
    }

    private func begin(_ continuation: UnsafeContinuation<Void, any Error>) {
        // The cancellation handler may have run first.
        guard !isClosed, link == nil, connecting == nil else {
            return continuation.resume(throwing: closeError ?? RedisError(.closed, "closed while connecting"))
        }
        connecting = continuation
        let timer = LoopTimer(loop) { [self] in
            assumeIsolated { $0.shutDown(RedisError(.connectionFailed, "no answer in time")) }
        }
        connectTimer = timer
        timer.start(ms: configuration.connectTimeout.milliseconds)
        if Task.isCancelled { return shutDown(RedisError(.closed, "cancelled while connecting")) }
        // Nobody waits for its end: resolving a name can't be interrupted, and may take longer than connecting may.
        Task {
            do {
                open(try await HiredisLink.start(configuration))
            } catch {
                connected(error as? RedisError ?? RedisError(.connectionFailed, "\(error)"))
            }
        }
    }

    private func open(_ started: HiredisLink.Started) {
        guard !isClosed, connecting != nil else { return HiredisLink.discard(started) }
        do {
            // The link and the timers release this actor at `shutDown`. (Weak references would make every retain of this actor
            // slow.)
            link = try HiredisLink(started, on: loop) { [self] error in
                assumeIsolated { $0.connected(error) }
            } onReplica: { [self] error in
                // After the answers that have arrived with this one.
                loop.execute {
                    self.assumeIsolated {
                        $0.shutDown(RedisError(.connectionLost, "the server is a replica: \(error.message)"))
                    }
                }
            } onClosed: { [self] in
                assumeIsolated { $0.shutDown(RedisError(.connectionLost, "the server closed the connection")) }
            }
        } catch {
            connected(error as? RedisError ?? RedisError(.connectionFailed, "\(error)"))
        }
    }

    private func connected(_ error: RedisError?) {
        guard let continuation = connecting else { return }
        connecting = nil
        if let error {
            closeError = error
            continuation.resume(throwing: error)
        } else {
            continuation.resume()
        }
    }

    private func signIn() async throws {
        var commands: [RedisCommand] = []
        if let password = configuration.password {
            commands.append(RedisCommand(["AUTH"] + (configuration.username.map { [$0] } ?? []) + [password]))
        }
        if configuration.database != 0 { commands.append(RedisCommand(["SELECT", configuration.database])) }
        commands.append(RedisCommand(["CLIENT", "SETNAME", configuration.clientName]))
        do {
            for value in try await send(commands) { _ = try value.get() }
        } catch {
            let failure = closeError ?? (error as? RedisError)
            shutDown(failure ?? RedisError(.connectionFailed, "\(error)"))
            throw error
        }
    }

    /// Ends the connection; commands that aren't answered fail with ``RedisError/Code/connectionLost``.
    public func close() { shutDown(RedisError(.closed, "the connection was closed")) }

    /// The number of commands that wait for their answer.
    public var unanswered: Int { link?.unanswered ?? 0 }

    /// Returns when the connection has ended, and throws the cause unless it was `close`.
    public func waitUntilClosed() async throws {
        await withUnsafeContinuation { (continuation: UnsafeContinuation<Void, Never>) in
            // Getting here may have taken a turn of the loop.
            if isClosed { continuation.resume() } else { closeWaiters.append(continuation) }
        }
        if let closeError, closeError.code != .closed { throw closeError }
    }

    private func shutDown(_ error: RedisError) {
        guard !isClosed else { return }
        isClosed = true
        closeError = closeError ?? error
        connectTimer?.close()
        connectTimer = nil
        watchdog?.close()
        watchdog = nil
        let continuation = connecting
        connecting = nil
        link?.close()
        link = nil
        continuation?.resume(throwing: closeError ?? error)
        for waiter in closeWaiters { waiter.resume() }
        closeWaiters = []
    }

    // MARK: Commands

    /// Writes commands to the socket at the end of the loop's turn; `waiter` gets the answers, or the reason why nothing was sent.
    func begin(_ wires: some Collection<[UInt8]>, _ waiter: PendingReply.Waiter) {
        guard let link else { return waiter.fail(closeError ?? RedisError(.closed, "not connected")) }
        guard link.unanswered + wires.count <= configuration.maximumPending else {
            return waiter.fail(RedisError(.overloaded, "\(link.unanswered) commands are unanswered"))
        }
        let reply = PendingReply(count: wires.count, waiter)
        for wire in wires where !link.send(wire, to: reply) { reply.take(nil) }
        watchAnswers()
    }

    /// The error for an answer that will never come.
    var loss: RedisError {
        let cause = closeError ?? RedisError(.connectionLost, "the connection was lost")
        return cause.code == .closed ? RedisError(.connectionLost, cause.message) : cause
    }

    // MARK: A server that doesn't answer

    private func watchAnswers() {
        guard !isWatching, !isClosed else { return }
        isWatching = true
        let timer = watchdog ?? LoopTimer(loop) { [self] in assumeIsolated { $0.checkAnswers() } }
        watchdog = timer
        timer.start(ms: 250, every: 250)
    }

    private func checkAnswers() {
        guard let link, link.unanswered > 0 else {
            isWatching = false
            watchdog?.stop()
            return
        }
        if loop.now > link.quietSince &+ configuration.answerTimeout.milliseconds {
            shutDown(RedisError(.timeout, "no answer in time"))
        }
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

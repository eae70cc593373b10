public import EventLoop
public import Lifecycle
public import Logging

/// A client for Redis, with one or more connections that are kept open.
///
/// `run` keeps the connections up, reconnecting with growing, jittered pauses; calls made while there is none wait up to
/// `unavailableTimeout`, then fail. This client never sends a command twice.
///
/// A connection whose server answers that it is a replica (`READONLY`, `MASTERDOWN`) is closed, and opened again with the name
/// resolved anew: after a failover the name, or the proxy behind it, leads to the new primary.
public final class RedisClient: Service {
    public let configuration: RedisConfiguration
    private let loops: LoopGroup
    private let logger: Logger
    private let state = Locked(State())
    private let metrics = RedisMetrics()
    private let failures = Locked(FailureChanges())
    /// Rings when the first command has waited for a connection for too long.
    private let expiry = Alarm()

    private struct State {
        var connections: [RedisConnection] = []
        var next = 0
        var waiters: [UInt64: Waiter] = [:]
        var nextID: UInt64 = 0
        var lastFailure: RedisError?
        var isClosed = false

        mutating func choose() -> RedisConnection? {
            if connections.isEmpty { return nil }
            // A connection on the caller's own loop needs no change of thread.
            if let near = connections.first(where: { $0.loop.inLoop }) { return near }
            next = (next + 1) % connections.count
            return connections[next]
        }
    }

    private struct Waiter {
        let deadline: ContinuousClock.Instant
        let continuation: UnsafeContinuation<RedisConnection, any Error>
    }

    public init(configuration: RedisConfiguration, on loops: LoopGroup, logger: Logger = Logger(label: "redis")) {
        self.configuration = configuration
        self.loops = loops
        self.logger = logger
    }

    // MARK: Commands

    /// Runs one command: `try await client.command(["GET", key])`. Throws the server's error.
    @discardableResult
    nonisolated(nonsending) public func command(_ arguments: [any RedisArgument]) async throws -> RedisValue {
        try await run(RedisCommand(arguments))
    }

    /// Runs commands one right after the other on one connection, in one write; errors of the server are returned in their places.
    @discardableResult
    nonisolated(nonsending) public func pipeline(_ commands: [RedisCommand]) async throws -> [RedisValue] {
        do {
            return try await connection().send(commands)
        } catch {
            if error is RedisError { metrics.failures.increment() }
            throw error
        }
    }

    nonisolated(nonsending) private func run(_ command: RedisCommand) async throws -> RedisValue {
        let value: RedisValue
        do {
            value = try await connection().send(command)
        } catch {
            if error is RedisError { metrics.failures.increment() }
            throw error
        }
        return try value.get()
    }

    /// Runs commands in MULTI … EXEC and returns their results. Throws if the server refused the transaction as a whole.
    @discardableResult
    nonisolated(nonsending) public func transaction(_ commands: [RedisCommand]) async throws -> [RedisValue] {
        if commands.isEmpty { return [] }
        // Inside MULTI a script can't be retried with its source, so its source is sent at once.
        let plain = commands.map { $0.fallback.map(RedisCommand.init(wire:)) ?? $0 }
        let values = try await pipeline([RedisCommand(["MULTI"])] + plain + [RedisCommand(["EXEC"])])
        guard let last = values.last, case .array(let results) = try last.get() else {
            throw RedisError(.unexpectedReply, "EXEC didn't answer with an array")
        }
        return results
    }

    /// Runs a script: by its digest, and by its source if the server doesn't know it.
    @discardableResult
    nonisolated(nonsending) public func eval(
        _ script: RedisScript, keys: [String] = [], arguments: [any RedisArgument] = []
    ) async throws -> RedisValue {
        try await run(RedisCommand(script, keys: keys, arguments: arguments))
    }

    /// Throws unless the server answers.
    /// - Parameter key: A key that a script writes, for fifteen seconds: a server whose memory is full, or whose user lacks rights, answers, and
    ///   does no work.
    public func check(writing key: String? = nil) async throws {
        // Waiting for a connection would report the failure later, and with less detail.
        if let failure = state.withLock({ $0.connections.isEmpty ? $0.lastFailure : nil }) { throw failure }
        if let key { try await eval(Self.writing, keys: [key]) } else { try await command(["PING"]) }
    }

    private static let writing = RedisScript("return redis.call('SET', KEYS[1], '1', 'PX', 15000)")

    /// The number of open connections.
    public var connectionCount: Int { state.withLock { $0.connections.count } }

    // MARK: Connections

    nonisolated(nonsending) private func connection() async throws -> RedisConnection {
        if let connection = state.withLock({ $0.choose() }) { return connection }
        return try await waitForConnection()
    }

    private func waitForConnection() async throws -> RedisConnection {
        let id = state.withLock { state in
            state.nextID += 1
            return state.nextID
        }
        let deadline = ContinuousClock.now + configuration.unavailableTimeout
        let limit = configuration.maximumPending
        return try await withTaskCancellationHandler {
            try await withUnsafeThrowingContinuation { continuation in
                let outcome: Result<RedisConnection, any Error>? = state.withLock { state in
                    if let connection = state.choose() { return .success(connection) }
                    if state.isClosed { return .failure(RedisError(.closed, "the client is closed")) }
                    if Task.isCancelled { return .failure(CancellationError()) }
                    if state.waiters.count >= limit {
                        return .failure(RedisError(.overloaded, "too many commands wait for a connection"))
                    }
                    state.waiters[id] = Waiter(deadline: deadline, continuation: continuation)
                    expiry.set(deadline)
                    return nil
                }
                if let outcome { continuation.resume(with: outcome) }
            }
        } onCancel: {
            state.withLock { $0.waiters.removeValue(forKey: id) }?.continuation.resume(throwing: CancellationError())
        }
    }

    private func add(_ connection: RedisConnection) {
        let waiters = state.withLock { state in
            state.connections.append(connection)
            defer { state.waiters = [:] }
            return Array(state.waiters.values)
        }
        metrics.connections.set(connectionCount)
        if failures.withLock({ $0.recovered() }) { logger.notice("Redis is reachable again") }
        for waiter in waiters { waiter.continuation.resume(returning: connection) }
    }

    private func remove(_ connection: RedisConnection) {
        state.withLock { $0.connections.removeAll { $0 === connection } }
        metrics.connections.set(connectionCount)
    }

    // MARK: Running

    /// Keeps the connections up until graceful shutdown or cancellation.
    public func run() async throws {
        await withTaskGroup(of: Void.self) { group in
            for _ in 0..<max(configuration.connections, 1) {
                let loop = loops.next()
                group.addTask { await self.keepConnected(on: loop) }
            }
            group.addTask { await self.expireWaiters() }
            // Returns at graceful shutdown, throws if the task is cancelled; in both cases the client then shuts down. Commands in
            // flight are answered within a fraction of a second.
            try? await gracefulShutdown()
            await drain()
            group.cancelAll()
        }
        let waiters = state.withLock { state in
            state.isClosed = true
            defer { state.waiters = [:] }
            return Array(state.waiters.values)
        }
        for waiter in waiters { waiter.continuation.resume(throwing: RedisError(.closed, "the client is closed")) }
    }

    /// How long a connection has to last for the next attempt to follow soon.
    private static let lasting = Duration.seconds(5)

    private func keepConnected(on loop: EventLoop) async {
        var backoff = RetryBackoff(.reconnecting)
        while !Task.isCancelled {
            let connection = RedisConnection(configuration: configuration, on: loop)
            do {
                try await connection.connect()
                let start = ContinuousClock.now
                add(connection)
                defer {
                    remove(connection)
                    // One that ends at once is no success: the server may be a replica for as long as its name leads there.
                    if ContinuousClock.now - start > Self.lasting { backoff.reset() }
                }
                try await withTaskCancellationHandler {
                    try await connection.waitUntilClosed()
                } onCancel: {
                    connection.loop.execute { connection.assumeIsolated { $0.close() } }
                }
            } catch {
                await connection.close()
                if Task.isCancelled { return }
                metrics.connectionFailures.increment()
                state.withLock { $0.lastFailure = error as? RedisError }
                // The error isn't about a caller's command: the server's messages about a name, a password or a database quote no
                // data.
                let place = configuration.path ?? "\(configuration.host):\(configuration.port)"
                let cause = place + ": " + ((error as? RedisError)?.message ?? "\(error)")
                let level: Logger.Level = failures.withLock { $0.isNew(cause) } ? .warning : .debug
                var metadata: Logger.Metadata = ["error": "\(cause)"]
                if let setting = configuration.setting { metadata["setting"] = "\(setting)" }
                logger.log(level: level, "a connection to Redis failed, trying again", metadata: metadata)
            }
            // If the task was cancelled, the loop's condition ends the loop.
            try? await Task.sleep(for: backoff.next())
        }
    }

    /// Fails callers that have waited for too long; returns when the task is cancelled.
    private func expireWaiters() async {
        while (try? await expiry.ring()) != nil {
            let now = ContinuousClock.now
            let (expired, next, failure) = state.withLock { state in
                let expired = state.waiters.filter { $0.value.deadline <= now }
                for id in expired.keys { state.waiters[id] = nil }
                return (Array(expired.values), state.waiters.values.lazy.map(\.deadline).min(), state.lastFailure)
            }
            if let next { expiry.set(next) }
            let error = RedisError(
                .unavailable, "no connection; the last attempt: \(failure?.message ?? "none was made")")
            for waiter in expired { waiter.continuation.resume(throwing: error) }
        }
    }

    /// Waits for the answers to the commands that were sent.
    private func drain() async {
        let deadline = ContinuousClock.now + .seconds(2)
        while !Task.isCancelled, ContinuousClock.now < deadline {
            var unanswered = 0
            for connection in state.withLock({ $0.connections }) { unanswered += await connection.unanswered }
            if unanswered == 0 { return }
            try? await Task.sleep(for: .milliseconds(10))
        }
    }

    /// Runs a client for the duration of `body`: for tools and tests that have no service group.
    @discardableResult
    public static func withClient<R: Sendable>(
        _ configuration: RedisConfiguration, on loops: LoopGroup, _ body: @Sendable (RedisClient) async throws -> R
    ) async throws -> R {
        let client = RedisClient(configuration: configuration, on: loops)
        return try await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask { try await client.run() }
            defer { group.cancelAll() }
            return try await body(client)
        }
    }
}

public import EventLoop
public import Lifecycle
public import Logging

/// A pool of connections spread over a group of loops.
///
/// `run` keeps the connections up, reconnecting with growing, jittered pauses; calls made before it wait for it. Single statements
/// share connections when none is idle, and are sent together (see ``PostgresConnection``); a transaction has a connection of its
/// own. On graceful shutdown the client waits for the holders of its connections, at most 10 s, then closes.
public final class PostgresClient: Service, PostgresQuerying {
    public let configuration: PostgresConfiguration
    private let loops: LoopGroup
    private let logger: Logger
    private let pool: Locked<ConnectionPool>
    private let metrics = PostgresMetrics()
    private let failures = Locked(FailureChanges())
    /// Rings when the first of the callers that wait for a connection has waited for too long.
    private let expiry = Alarm()

    public init(configuration: PostgresConfiguration, on loops: LoopGroup, logger: Logger = Logger(label: "postgres")) {
        self.configuration = configuration
        self.loops = loops
        self.logger = logger
        pool = Locked(
            ConnectionPool(
                maximumShared: max(configuration.maximumSharedStatements, 1),
                maximumWaiters: configuration.maximumWaiters))
    }

    // MARK: Statements

    /// Runs one statement, committed when this returns.
    ///
    /// Cancelling the task stops the statement only if no other caller's statement waits behind it on the same connection.
    public func query(_ statement: PostgresStatement) async throws -> PostgresRows {
        try await withUsable(.shared) { try await $0.queryShared(statement) }
    }

    /// Sends all statements in one write over one connection: one round trip.
    public func pipeline(_ statements: [PostgresStatement], in mode: PostgresPipelineMode) async throws
        -> [PostgresRows]
    {
        try await withUsable(.exclusive) { try await $0.pipeline(statements, in: mode) }
    }

    public func results(of statements: [PostgresStatement]) async throws -> [Result<PostgresRows, PostgresError>] {
        try await withUsable(.exclusive) { try await $0.results(of: statements) }
    }

    /// Runs `body` with a connection of its own. A transaction that it leaves open is rolled back; session settings that it changes
    /// persist.
    @discardableResult
    nonisolated(nonsending) public func withConnection<R>(
        _ body: nonisolated(nonsending) (PostgresConnection) async throws -> R
    ) async throws -> R {
        try await withLease(.exclusive) { connection in
            do {
                let result = try await body(connection)
                await connection.endLease()
                return result
            } catch {
                await connection.endLease()
                throw error
            }
        }
    }

    /// Runs `body` in a transaction: committed when it returns, rolled back when it throws. The caller is responsible for retries
    /// (``PostgresError/isRetriable``).
    @discardableResult
    nonisolated(nonsending) public func withTransaction<R>(
        isolation: PostgresIsolation = .readCommitted,
        _ body: nonisolated(nonsending) (PostgresTransaction) async throws -> R
    ) async throws -> R {
        try await withLease(.exclusive) { connection in
            try await connection.withTransaction(isolation: isolation, body)
        }
    }

    /// Copies rows into a table and returns their number: either all are copied or none. Memory stays bounded, however many there
    /// are.
    ///
    /// - Parameters:
    ///   - table: The table's name as in SQL, quoted if necessary.
    ///   - columns: The columns' unquoted names.
    @discardableResult
    nonisolated(nonsending) public func copy(
        into table: String, columns: [String],
        _ body: nonisolated(nonsending) (inout PostgresCopyWriter) async throws -> Void
    ) async throws -> Int {
        try await withConnection { try await $0.copy(into: table, columns: columns, body) }
    }

    /// Throws unless the server answers.
    public func check() async throws {
        // Waiting for a connection would report the failure later, and with less detail.
        if let failure = pool.withLock({ $0.connectionCount == 0 ? $0.lastFailure : nil }) { throw failure }
        _ = try await query("SELECT 1")
    }

    /// Throws if the server recently refused a statement for lack of disk or memory, or because it doesn't accept writes.
    /// - Parameter time: how long ago counts as recently.
    public func checkShortages(within time: Duration = .seconds(15)) throws(PostgresError) {
        try configuration.shortages.check(within: time)
    }

    /// The number of open connections.
    public var connectionCount: Int { pool.withLock { $0.connectionCount } }

    // MARK: Leases

    /// Runs `body`, which sends everything at once: if the connection turns out to have ended before, nothing was sent, and another
    /// connection is used.
    nonisolated(nonsending) private func withUsable<R>(
        _ use: ConnectionPool.Use, _ body: nonisolated(nonsending) (PostgresConnection) async throws -> R
    ) async throws -> R {
        while true {
            do {
                return try await withLease(use) { connection in
                    do {
                        return try await body(connection)
                    } catch let error as PostgresError where error.code == .closed {
                        remove(connection)
                        throw error
                    }
                }
            } catch let error as PostgresError where error.code == .closed {
                if pool.withLock({ $0.isClosed }) { throw error }
            }
        }
    }

    nonisolated(nonsending) private func withLease<R>(
        _ use: ConnectionPool.Use, _ body: nonisolated(nonsending) (PostgresConnection) async throws -> R
    ) async throws -> R {
        let connection = try await lease(use)
        defer { for resumption in pool.withLock({ $0.release(connection) }) { resumption.perform() } }
        return try await body(connection)
    }

    nonisolated(nonsending) private func lease(_ use: ConnectionPool.Use) async throws -> PostgresConnection {
        let start = ContinuousClock.now
        let deadline = start + configuration.leaseTimeout
        switch pool.withLock({ $0.lease(use, deadline: deadline) }) {
        case .connection(let connection):
            metrics.poolWait.record(.zero)
            return connection
        case .refuse(let error):
            metrics.refused.increment()
            throw error
        case .wait(let id):
            expiry.set(deadline)
            do {
                let connection = try await wait(id)
                metrics.poolWait.record(ContinuousClock.now - start)
                return connection
            } catch {
                if error is PostgresError { metrics.refused.increment() }
                throw error
            }
        }
    }

    nonisolated(nonsending) private func wait(_ id: UInt64) async throws -> PostgresConnection {
        try await withTaskCancellationHandler {
            try await withUnsafeThrowingContinuation { continuation in
                pool.withLock { $0.park(id, continuation) }?.perform()
            }
        } onCancel: {
            for resumption in pool.withLock({ $0.giveUp(id) }) { resumption.perform() }
        }
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
            // Returns at graceful shutdown, throws if the task is cancelled; in both cases the client then shuts down.
            try? await gracefulShutdown()
            await drain()
            group.cancelAll()
        }
        for resumption in pool.withLock({ $0.close() }) { resumption.perform() }
    }

    private func keepConnected(on loop: EventLoop) async {
        var backoff = RetryBackoff(.reconnecting)
        while !Task.isCancelled {
            let connection = PostgresConnection(configuration: configuration, on: loop, logger: logger)
            do {
                try await connection.connect()
                try await configuration.prepare?(connection)
                backoff.reset()
                add(connection)
                defer { remove(connection) }
                try await withTaskCancellationHandler {
                    try await connection.waitUntilClosed()
                } onCancel: {
                    connection.loop.execute { connection.assumeIsolated { $0.close() } }
                }
            } catch {
                await connection.close()
                if Task.isCancelled { return }
                metrics.connectionFailures.increment()
                pool.withLock { $0.lastFailure = error }
                let cause = (error as? PostgresError)?.cause ?? "\(error)"
                // Logged at once, and again when the cause changes: it may be a wrong setting, which doesn't correct itself.
                let level: Logger.Level = failures.withLock { $0.isNew(cause) } ? .warning : .debug
                var metadata: Logger.Metadata = ["error": "\(cause)"]
                if let setting = configuration.setting { metadata["setting"] = "\(setting)" }
                logger.log(level: level, "a connection to Postgres failed, trying again", metadata: metadata)
            }
            // If the task was cancelled, the loop's condition ends the loop.
            try? await Task.sleep(for: backoff.next())
        }
    }

    private func add(_ connection: PostgresConnection) {
        let resumptions = pool.withLock { $0.add(connection) }
        metrics.connections.set(connectionCount)
        if failures.withLock({ $0.recovered() }) { logger.notice("Postgres is reachable again") }
        for resumption in resumptions { resumption.perform() }
    }

    private func remove(_ connection: PostgresConnection) {
        pool.withLock { $0.remove(connection) }
        metrics.connections.set(connectionCount)
    }

    /// Fails callers that have waited for too long; returns when the task is cancelled.
    private func expireWaiters() async {
        while (try? await expiry.ring()) != nil {
            let (resumptions, next) = pool.withLock { ($0.expire(.now), $0.nextDeadline) }
            for resumption in resumptions { resumption.perform() }
            if let next { expiry.set(next) }
        }
    }

    /// Waits for the callers that hold or await a connection.
    private func drain() async {
        let deadline = ContinuousClock.now + .seconds(10)
        while !Task.isCancelled, ContinuousClock.now < deadline, pool.withLock({ $0.leaseCount + $0.waiterCount }) > 0 {
            try? await Task.sleep(for: .milliseconds(10))
        }
    }

    /// Runs a client for the duration of `body`: for tools and tests that have no service group.
    @discardableResult
    public static func withClient<R: Sendable>(
        _ configuration: PostgresConfiguration, on loops: LoopGroup,
        _ body: @Sendable (PostgresClient) async throws -> R
    ) async throws -> R {
        let client = PostgresClient(configuration: configuration, on: loops)
        return try await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask { try await client.run() }
            defer { group.cancelAll() }
            return try await body(client)
        }
    }
}

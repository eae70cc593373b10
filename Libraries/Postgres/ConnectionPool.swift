/// The connections of a pool, their holders, and the callers that wait for one. A value without I/O: it returns the actions, which
/// its owner carries out after unlocking.
struct ConnectionPool {
    /// How a caller uses a connection.
    enum Use: Sendable {
        /// Exclusively, for several related statements.
        case exclusive
        /// For one statement, together with those of other callers if no connection is idle.
        case shared
    }

    enum Decision {
        case connection(PostgresConnection)
        case wait(id: UInt64)
        case refuse(PostgresError)
    }

    struct Waiter {
        let use: Use
        let deadline: ContinuousClock.Instant
        var continuation: UnsafeContinuation<PostgresConnection, any Error>?
        /// The outcome, if it was known before the continuation was stored.
        var outcome: Result<PostgresConnection, any Error>?
    }

    struct Resumption {
        let continuation: UnsafeContinuation<PostgresConnection, any Error>
        let outcome: Result<PostgresConnection, any Error>
        func perform() { continuation.resume(with: outcome) }
    }

    private struct Slot {
        let connection: PostgresConnection
        var users = 0
        var isExclusive = false
    }

    private var slots: [Slot] = []
    private var waiters: [UInt64: Waiter] = [:]
    /// The ids of `waiters` in order; ids of waiters that gave up are skipped.
    private var queue: ArraySlice<UInt64> = []
    private var nextID: UInt64 = 0
    private(set) var isClosed = false
    var lastFailure: (any Error)?
    private let maximumShared: Int
    private let maximumWaiters: Int

    init(maximumShared: Int, maximumWaiters: Int) {
        self.maximumShared = maximumShared
        self.maximumWaiters = maximumWaiters
    }

    var connectionCount: Int { slots.count }
    var waiterCount: Int { waiters.count }
    var leaseCount: Int { slots.reduce(0) { $0 + $1.users } }

    mutating func lease(_ use: Use, deadline: ContinuousClock.Instant) -> Decision {
        if isClosed { return .refuse(PostgresError(.closed, "the client is closed")) }
        // A caller doesn't overtake those that wait.
        if waiters.isEmpty, let connection = take(use) { return .connection(connection) }
        guard waiters.count < maximumWaiters else {
            return .refuse(
                PostgresError(.poolExhausted, "\(maximumWaiters) callers wait already", underlying: lastFailure))
        }
        nextID += 1
        waiters[nextID] = Waiter(use: use, deadline: deadline)
        queue.append(nextID)
        return .wait(id: nextID)
    }

    /// Stores the continuation of a waiter, or returns its resumption if its outcome is known already.
    mutating func park(_ id: UInt64, _ continuation: UnsafeContinuation<PostgresConnection, any Error>) -> Resumption? {
        guard let outcome = waiters[id]?.outcome else {
            waiters[id]?.continuation = continuation
            return nil
        }
        waiters[id] = nil
        return Resumption(continuation: continuation, outcome: outcome)
    }

    /// Removes a waiter whose task was cancelled; waiters behind it may then get a connection.
    mutating func giveUp(_ id: UInt64) -> [Resumption] { settle(id, .failure(CancellationError())) + serve() }

    /// The earliest deadline of the waiters; `nil` if none waits.
    var nextDeadline: ContinuousClock.Instant? {
        waiters.values.lazy.filter { $0.outcome == nil }.map(\.deadline).min()
    }

    mutating func expire(_ now: ContinuousClock.Instant) -> [Resumption] {
        let expired = waiters.filter { $0.value.deadline <= now && $0.value.outcome == nil }.keys
        let error = PostgresError(.poolTimeout, "no connection became free in time", underlying: lastFailure)
        return expired.flatMap { settle($0, .failure(error)) } + serve()
    }

    mutating func add(_ connection: PostgresConnection) -> [Resumption] {
        slots.append(Slot(connection: connection))
        lastFailure = nil
        return serve()
    }

    mutating func remove(_ connection: PostgresConnection) { slots.removeAll { $0.connection === connection } }

    mutating func release(_ connection: PostgresConnection) -> [Resumption] {
        guard let index = slots.firstIndex(where: { $0.connection === connection }) else { return [] }
        slots[index].users -= 1
        slots[index].isExclusive = false
        return serve()
    }

    /// Closes the pool: all waiting and later callers are refused.
    mutating func close() -> [Resumption] {
        isClosed = true
        return queue.flatMap { settle($0, .failure(PostgresError(.closed, "the client is closed"))) }
    }

    private mutating func take(_ use: Use) -> PostgresConnection? {
        var best: Int?
        for index in slots.indices where !slots[index].isExclusive {
            if slots[index].users >= (use == .exclusive ? 1 : maximumShared) { continue }
            guard let other = best else {
                best = index
                continue
            }
            // The connection with the fewest users; among equals, one on the caller's own loop.
            let isBetter = slots[index].users < slots[other].users
            let isNearer = slots[index].users == slots[other].users && slots[index].connection.loop.inLoop
            if isBetter || isNearer { best = index }
        }
        guard let best else { return nil }
        slots[best].users += 1
        slots[best].isExclusive = use == .exclusive
        return slots[best].connection
    }

    /// Assigns connections to the first waiters, in order.
    private mutating func serve() -> [Resumption] {
        var resumptions: [Resumption] = []
        while let id = queue.first {
            guard let waiter = waiters[id], waiter.outcome == nil else {
                queue.removeFirst()
                continue
            }
            guard let connection = take(waiter.use) else { break }
            queue.removeFirst()
            resumptions += settle(id, .success(connection))
        }
        if queue.isEmpty { queue = [] }
        return resumptions
    }

    private mutating func settle(_ id: UInt64, _ outcome: Result<PostgresConnection, any Error>) -> [Resumption] {
        guard let waiter = waiters[id], waiter.outcome == nil else { return [] }
        if let continuation = waiter.continuation {
            waiters[id] = nil
            return [Resumption(continuation: continuation, outcome: outcome)]
        }
        waiters[id]?.outcome = outcome
        return []
    }
}

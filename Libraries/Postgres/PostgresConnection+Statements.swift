private import Clibpq
import EventLoop

extension PostgresConnection: PostgresQuerying {
    /// Sends a statement and returns at once; the reply is used to wait for the answer. Statements run in the order in which they
    /// were sent.
    public func send(_ statement: PostgresStatement) throws -> PostgresReply {
        PostgresReply(connection: self, group: try enqueue([statement]))
    }

    /// Sends statements in one write and returns at once; each runs independently.
    public func send(_ statements: [PostgresStatement]) throws -> [PostgresReply] {
        try statements.map { PostgresReply(connection: self, group: try enqueue([$0])) }
    }

    /// Runs one statement; outside a transaction it is committed when this returns.
    public func query(_ statement: PostgresStatement) async throws -> PostgresRows {
        let group = try enqueue([statement])
        try await answer(to: group)
        return try Self.rows(of: group)[0]
    }

    /// Runs one statement on a connection on which other callers run theirs.
    func queryShared(_ statement: PostgresStatement) async throws -> PostgresRows {
        // The request may stop the wrong statement: this one, if it were sent now.
        await cancelsDelivered()
        let group = try enqueue([statement])
        group.isShared = true
        try await answer(to: group)
        return try Self.rows(of: group)[0]
    }

    /// Sends all statements in one write and returns their rows in order, or throws the first failure (with its `statementIndex`).
    ///
    /// With `.explicit`, no other caller may use the connection meanwhile, since after a failure the transaction has to be rolled
    /// back.
    public func pipeline(_ statements: [PostgresStatement], in mode: PostgresPipelineMode) async throws
        -> [PostgresRows]
    {
        if statements.isEmpty { return [] }
        if case .separate = mode { return try await results(of: statements).map { try $0.get() } }
        let group = try enqueue(statements, in: mode)
        try await answer(to: group)
        return try Self.rows(of: group)
    }

    /// Sends all statements in one write, each with its own Sync: a failure doesn't affect the others, unless a transaction is
    /// open.
    public func results(of statements: [PostgresStatement]) async throws -> [Result<PostgresRows, PostgresError>] {
        let groups = try statements.map { try enqueue([$0]) }
        var results: [Result<PostgresRows, PostgresError>] = []
        results.reserveCapacity(groups.count)
        for (index, group) in groups.enumerated() {
            try await answer(to: group)
            do {
                results.append(.success(try Self.rows(of: group)[0]))
            } catch var failure as PostgresError {
                failure.statementIndex = index
                results.append(.failure(failure))
            }
        }
        return results
    }

    // MARK: Sending

    func enqueue(_ statements: [PostgresStatement], in mode: PostgresPipelineMode = .implicit) throws(PostgresError)
        -> StatementGroup
    {
        guard self.mode == .pipeline, handle != nil else { throw unusable }
        let group: StatementGroup
        if case .explicit(let isolation) = mode {
            group = StatementGroup(isTransaction: true)
            group.statements = [PostgresStatement(isolation.begin)] + statements + [PostgresStatement("COMMIT")]
        } else {
            group = StatementGroup(isTransaction: false)
            group.statements = statements
            if let begin = phase.withLock({ $0.takeBegin() }) {
                group.hasBegin = true
                transactionFailure = nil
                group.statements.insert(PostgresStatement(begin), at: 0)
            }
        }
        // All parameters are checked before anything is sent, since a partly sent group can't be undone.
        for statement in group.statements { try ParameterEncoder.check(statement) }
        group.results.reserveCapacity(group.statements.count)
        for statement in group.statements {
            guard send(statement, in: group) else {
                let error = PostgresError(.connectionLost, lastMessage)
                lose(error)
                throw error
            }
        }
        guard endGroup(group) else { throw PostgresError(.connectionLost, "the connection was lost while sending") }
        return group
    }

    private func endGroup(_ group: StatementGroup) -> Bool {
        guard PQpipelineSync(handle) == 1 else {
            lose(PostgresError(.connectionLost, lastMessage))
            return false
        }
        pending.append(.sync(group), now: loop.now)
        markDirty()
        watchAnswers()
        return true
    }

    private func send(_ statement: PostgresStatement, in group: StatementGroup) -> Bool {
        encoder.encode(statement.parameters)
        let key = StatementCache.Key(sql: statement.sql, types: encoder.types)
        let use = statement.isPrepared ? statements.use(key, by: group) : .unprepared
        let sent: Bool
        switch use {
        case .prepared(let name): sent = sendPrepared(name)
        case .prepare(let name, let evicted):
            if let evicted { group.evicted.append(evicted) }
            let types = encoder.types
            guard
                types.withUnsafeBufferPointer({
                    PQsendPrepare(handle, name, statement.sql, Int32($0.count), $0.baseAddress)
                }) == 1
            else { return false }
            pending.append(.prepare(key, group), now: loop.now)
            sent = sendPrepared(name)
        case .unprepared:
            let types = encoder.types
            sent = encoder.withPointers { values, lengths, formats in
                types.withUnsafeBufferPointer {
                    PQsendQueryParams(handle, statement.sql, encoder.count, $0.baseAddress, values, lengths, formats, 0)
                        == 1
                }
            }
        }
        if sent { pending.append(.statement(group), now: loop.now) }
        return sent
    }

    private func sendPrepared(_ name: String) -> Bool {
        encoder.withPointers { values, lengths, formats in
            PQsendQueryPrepared(handle, name, encoder.count, values, lengths, formats, 0) == 1
        }
    }

    /// Drops prepared statements on the server, without waiting for the answers.
    private func deallocate(_ names: [String]) {
        for name in names {
            guard mode == .pipeline,
                let group = try? enqueue([PostgresStatement("DEALLOCATE \(name)", isPrepared: false)])
            else {
                return  // the connection is lost, and so are its statements
            }
            // In a failed transaction this is refused; then the statement stays on the server until the connection ends.
            group.isInternal = true
        }
    }

    // MARK: Receiving

    func receive() {
        guard let handle else { return }
        guard PQconsumeInput(handle) == 1 else { return lose(PostgresError(.connectionLost, lastMessage)) }
        var emptyAnswers = 0
        while let entry = pending.first, PQisBusy(handle) == 0 {
            guard let result = PQgetResult(handle) else {
                emptyAnswers += 1
                if emptyAnswers > 2 { return lose(PostgresError(.protocolViolation, "an answer is missing")) }
                continue
            }
            emptyAnswers = 0
            let status = PQresultStatus(result)
            if status == PGRES_PIPELINE_SYNC {
                PQclear(result)
                guard case .sync(let group) = entry else {
                    return lose(PostgresError(.protocolViolation, "a Sync came before its statements were answered"))
                }
                pending.removeFirst(now: loop.now)
                finish(group, lost: nil)
            } else {
                take(RowReader.read(result), for: entry)
                PQclear(result)
            }
            if mode != .pipeline { return }
        }
        if pending.isEmpty, PQstatus(handle) == CONNECTION_BAD { lose(PostgresError(.connectionLost, lastMessage)) }
    }

    private func noteFailure(_ error: PostgresError) {
        PostgresMetrics.failures[error.failureClass]?.increment()
        configuration.shortages.note(error)
        // The session has read that default when it began, and keeps it after an operator has changed it.
        if error.sqlstate == "25006", loop.now &- connectedAt >= Self.leastAge { isOutdated = true }
    }

    /// The age before which a session isn't replaced, in milliseconds, so that a database that stays read-only isn't connected to all the time.
    private static let leastAge: UInt64 = 5000

    /// Ends an outdated session when nobody is in the middle of something; the pool makes another.
    private func endIfOutdated() {
        guard isOutdated else { return }
        loop.execute {
            self.assumeIsolated { connection in
                guard connection.pending.isEmpty, case .none = connection.phase.withLock({ $0 }) else { return }
                connection.close()
            }
        }
    }

    private func take(_ result: Result<PostgresRows, PostgresError>, for entry: PendingQueue.Entry) {
        switch entry {
        case .prepare(let key, let group):
            if case .failure(let error) = result {
                group.fail(error, at: group.results.count)
                if error.code == .server { noteFailure(error) }
            }
            statements.prepared(key, successfully: group.failure == nil)
            pending.removeFirst(now: loop.now)
        case .statement(let group):
            if case .failure(var error) = result {
                if error.isInFailedTransaction { error.underlyingError = transactionFailure }
                group.fail(error, at: group.results.count)
                if transactionFailure == nil { transactionFailure = group.failure }
                if error.code == .server { noteFailure(error) }
                let isGone = error.sqlstate == "26000" || error.sqlstate == "0A000"
                if isGone, group.statements.indices.contains(group.results.count) {
                    group.evicted += statements.forget(sql: group.statements[group.results.count].sql)
                }
            }
            group.results.append(result)
            pending.removeFirst(now: loop.now)
        case .sync(let group):
            // The commit itself failed, e.g. because of a deferred constraint. The Sync follows.
            if case .failure(let error) = result { group.fail(error, at: nil) }
        }
    }

    /// Finishes a group that is answered, or that never will be (`lost`).
    func finish(_ group: StatementGroup, lost: PostgresError?) {
        if let lost {
            group.fail(lost, at: nil)
        } else {
            if let failure = group.failure, !group.isInternal {
                let beginFailed = failure.statementIndex == 0
                let commitFailed = failure.statementIndex == group.statements.count - 1
                if group.isTransaction, !beginFailed, !commitFailed { _ = try? enqueue(["ROLLBACK"]).isInternal = true }
            }
            if !group.evicted.isEmpty, mode == .pipeline { deallocate(group.evicted) }
        }
        if cancelsInFlight > 0, group.isCancelled, lost == nil {
            finishedWhileCancelling.append(group)
        } else {
            group.resume()
        }
        if lost == nil { endIfOutdated() }
    }

    static func rows(of group: StatementGroup) throws -> [PostgresRows] {
        if var failure = group.failure {
            if group.isTransaction || group.hasBegin {
                failure.statementIndex = failure.statementIndex.map { max($0 - 1, 0) }
            }
            throw failure
        }
        let rows = try group.results.map { try $0.get() }
        return Array(
            rows[(group.isTransaction || group.hasBegin ? 1 : 0)..<(rows.count - (group.isTransaction ? 1 : 0))])
    }

    // MARK: Waiting and cancelling

    /// Returns when the group is answered; throws only if the task was cancelled and the server therefore cancelled the statement.
    func answer(to group: StatementGroup) async throws {
        if !group.isDone {
            let box = UncheckedGroup(group: group)
            await withTaskCancellationHandler {
                await withUnsafeContinuation { (continuation: UnsafeContinuation<Void, Never>) in
                    group.add(continuation)
                    if Task.isCancelled { cancel(group) }
                }
            } onCancel: {
                loop.execute { self.assumeIsolated { $0.cancel(box.group) } }
            }
        }
        if group.isCancelled, group.failure?.sqlstate == "57014" { throw CancellationError() }
    }

    /// Returns when the group is answered, even if the task is cancelled.
    func outcome(of group: StatementGroup) async {
        await withUnsafeContinuation { group.add($0) }
    }

    /// Asks the server to stop the group if it is running; for one that waits behind others nothing is sent, since that would stop
    /// the others instead. Nor is anything sent if others' statements wait behind it: the request may arrive when it has ended, and stop
    /// the next one. Then it ends by itself, or by its timeout.
    private func cancel(_ group: StatementGroup) {
        guard !group.isDone, !group.isCancelled, pending.first?.group === group else { return }
        guard !group.isShared || pending.last?.group === group, askToStop() else { return }
        group.isCancelled = true
    }

    /// Asks the server to stop the statement that runs. Until ``cancelsInFlight`` is zero, it may stop the next one.
    /// - Returns: whether it is asked.
    func askToStop() -> Bool {
        guard let handle, let request = PQgetCancel(handle) else { return false }
        cancelsInFlight += 1
        if cancellingSince == nil { cancellingSince = loop.now }
        let box = CancelRequest(pointer: request)
        // PQcancel opens its own connection and blocks.
        BlockingWork.run { [loop] in
            box.perform()
            loop.execute { self.assumeIsolated { $0.cancelled() } }
        }
        return true
    }

    /// Called when a cancel request was delivered. A group that ended before is held until then, so that the request doesn't stop
    /// the next statement.
    private func cancelled() {
        cancelsInFlight -= 1
        guard cancelsInFlight == 0 else { return }
        cancellingSince = nil
        resumeCancelWaiters()
    }

    /// Returns when no cancel request is under way, or when the connection has ended.
    func cancelsDelivered() async {
        while cancelsInFlight > 0, mode != .closed {
            await withUnsafeContinuation { (continuation: UnsafeContinuation<Void, Never>) in
                // Getting here may have taken a turn of the loop.
                guard cancelsInFlight > 0, mode != .closed else { return continuation.resume() }
                cancelWaiters.append(continuation)
            }
        }
    }

    func resumeCancelWaiters() {
        let groups = finishedWhileCancelling
        finishedWhileCancelling = []
        for group in groups { group.resume() }
        let waiters = cancelWaiters
        cancelWaiters = []
        for waiter in waiters { waiter.resume() }
    }
}

/// Passes a group to the loop; it is accessed only there.
private struct UncheckedGroup: @unchecked Sendable {
    let group: StatementGroup
}

/// `PQcancel` may be called on any thread; only one closure owns the request.
private struct CancelRequest: @unchecked Sendable {
    let pointer: OpaquePointer
    func perform() {
        var message = [CChar](repeating: 0, count: 256)
        // If the request isn't delivered, the statement ends by its timeout.
        _ = PQcancel(pointer, &message, Int32(message.count))
        PQfreeCancel(pointer)
    }
}

/// The pending answer to a statement that was sent: `let rows = try await reply.rows()`.
public struct PostgresReply: Sendable {
    let connection: PostgresConnection
    private let box: UncheckedGroup

    init(connection: PostgresConnection, group: StatementGroup) {
        self.connection = connection
        box = UncheckedGroup(group: group)
    }

    /// Waits for the server's answer. It may be called several times, or not at all.
    public func rows() async throws -> PostgresRows { try await connection.rows(of: self) }

    fileprivate var group: StatementGroup { box.group }
}

extension PostgresConnection {
    fileprivate func rows(of reply: PostgresReply) async throws -> PostgresRows {
        try await answer(to: reply.group)
        return try Self.rows(of: reply.group)[0]
    }
}

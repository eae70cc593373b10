private import Clibpq
import EventLoop

// Outside pipeline mode: COPY, scripts and LISTEN. Only one caller at a time; libpq's calls never block, and this code waits for
// the socket.
extension PostgresConnection {
    /// Runs a script of several statements without parameters, by the simple protocol: in one transaction, unless the script
    /// controls transactions itself or one is open.
    ///
    /// - Parameter isCancellable: Whether the server stops it when the task is cancelled. Otherwise it also runs in a task that is
    ///   cancelled already, as what cleans up has to.
    /// - Throws: `PostgresError`; `CancellationError` when the server has stopped it.
    public func runScript(_ sql: String, isCancellable: Bool = false) async throws {
        try await leavePipeline()
        do {
            if isCancellable { try await runCancellable(sql) } else { try await runSimple(sql) }
        } catch {
            enterPipeline()
            throw error
        }
        enterPipeline()
    }

    private func runCancellable(_ sql: String) async throws {
        let script = CancellableScript()
        try await withTaskCancellationHandler {
            let result: Result<Void, any Error>
            do { result = .success(try await runSimple(sql)) } catch { result = .failure(error) }
            script.isDone = true
            if script.isCancelled { await cancelsDelivered() }
            do { try result.get() } catch let error as PostgresError where error.sqlstate == "57014" {
                throw script.isCancelled ? CancellationError() : error
            }
        } onCancel: {
            loop.execute { self.assumeIsolated { $0.stop(script) } }
        }
    }

    private func stop(_ script: CancellableScript) {
        guard !script.isDone, !script.isCancelled, askToStop() else { return }
        script.isCancelled = true
    }

    func runSimple(_ sql: String) async throws {
        guard PQsendQuery(handle, sql) == 1 else { throw lostNow() }
        try await flushAll()
        try await drainResults()
    }

    /// Waits for the answers to everything that was sent, then leaves pipeline mode.
    func leavePipeline() async throws {
        let group = try enqueue([])
        await outcome(of: group)
        if let failure = group.failure { throw failure }
        guard mode == .pipeline, pending.isEmpty else { throw unusable }
        guard PQexitPipelineMode(handle) == 1 else { throw lostNow() }
        mode = .copy
    }

    func enterPipeline() {
        guard mode == .copy else { return }
        guard PQenterPipelineMode(handle) == 1 else { return lose(PostgresError(.connectionLost, lastMessage)) }
        mode = .pipeline
        watch(.read)
    }

    /// Reads all results and throws the first error among them.
    @discardableResult
    func drainResults() async throws -> PostgresRows {
        var last = PostgresRows()
        var failure: PostgresError?
        while let result = try await nextResult() {
            switch result {
            case .success(let rows): last = rows
            case .failure(let error): failure = failure ?? error
            }
        }
        if let failure { throw failure }
        return last
    }

    func nextResult() async throws -> Result<PostgresRows, PostgresError>? {
        while PQisBusy(handle) == 1 {
            try await wait(for: .read)
            guard PQconsumeInput(handle) == 1 else { throw lostNow() }
        }
        guard let result = PQgetResult(handle) else { return nil }
        defer { PQclear(result) }
        return RowReader.read(result)
    }

    func flushAll() async throws {
        while true {
            switch PQflush(handle) {
            case 0: return
            case 1:
                try await wait(for: [.read, .write])
                guard PQconsumeInput(handle) == 1 else { throw lostNow() }
            default: throw lostNow()
            }
        }
    }

    func wait(for interest: FDWatcher.Interest) async throws {
        await withUnsafeContinuation { (continuation: UnsafeContinuation<Void, Never>) in
            guard mode == .copy || mode == .listening else { return continuation.resume() }
            readiness = continuation
            watch(interest)
        }
        guard mode == .copy || mode == .listening else { throw unusable }
    }

    private func lostNow() -> PostgresError {
        let error = PostgresError(.connectionLost, lastMessage)
        lose(error)
        return error
    }

    // MARK: COPY

    func beginCopy(_ sql: String) async throws {
        try await leavePipeline()
        do {
            guard PQsendQuery(handle, sql) == 1 else { throw lostNow() }
            try await flushAll()
            if case .failure(let error) = try await nextResult() {
                _ = try await drainResults()
                throw error
            }
        } catch {
            enterPipeline()
            throw error
        }
    }

    func copyData(_ chunk: [UInt8]) async throws {
        guard mode == .copy else { throw unusable }
        let sent = chunk.withUnsafeBytes {
            PQputCopyData(handle, $0.baseAddress?.assumingMemoryBound(to: CChar.self), Int32($0.count))
        }
        guard sent == 1 else { throw lostNow() }
        try await flushAll()
    }

    /// Ends the COPY: keeps the rows, or discards them if there is a `failure`.
    func endCopy(failure: String?) async throws -> Int {
        guard mode == .copy else { throw unusable }
        guard PQputCopyEnd(handle, failure) == 1 else { throw lostNow() }
        try await flushAll()
        do {
            let rows = try await drainResults()
            enterPipeline()
            return rows.affectedRows
        } catch {
            enterPipeline()
            throw error
        }
    }

    // MARK: LISTEN

    func listen(to channels: [String]) async throws {
        try await runSimple(channels.map { "LISTEN \($0.postgresIdentifier)" }.joined(separator: ";"))
    }

    /// Waits for notifications and returns all that are there.
    func nextNotifications() async throws -> [PostgresNotification] {
        var notifications = takeNotifications()
        while notifications.isEmpty {
            try await wait(for: .read)
            guard PQconsumeInput(handle) == 1 else { throw lostNow() }
            notifications = takeNotifications()
        }
        return notifications
    }

    private func takeNotifications() -> [PostgresNotification] {
        var notifications: [PostgresNotification] = []
        while let notification = PQnotifies(handle) {
            let raw = notification.pointee
            notifications.append(
                PostgresNotification(
                    channel: raw.relname.map { String(cString: $0) } ?? "",
                    payload: raw.extra.map { String(cString: $0) } ?? "",
                    processID: raw.be_pid))
            PQfreemem(notification)
        }
        return notifications
    }
}

/// A script that the server may be asked to stop.
///
/// `@unchecked Sendable`: used only on its connection's loop.
private final class CancellableScript: @unchecked Sendable {
    var isDone = false
    var isCancelled = false
}

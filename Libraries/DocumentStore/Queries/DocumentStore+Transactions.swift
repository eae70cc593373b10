import DocumentModel
public import EventLoop
public import Postgres
import SyncEngine

/// Runs in a transaction of the store just before the commit, after the documents that were found are locked, and before the partitions are:
/// its writes commit together with the documents, and an error that it throws rolls them back, and so does a statement that fails whose
/// answer it doesn't wait for. A consumer claims its event here, so that one that is late doesn't get to the documents.
public typealias CommitHook = @Sendable (PostgresTransaction) async throws -> Void

extension DocumentStore {
    /// A collection of an app.
    public func collection(_ name: String, database: String, app: String) -> DocumentCollection {
        DocumentCollection(
            store: self, app: app, namespace: .init(database: database, collection: name), session: nil)
    }

    /// How long a transaction may take; the same as MongoDB's default.
    public static let transactionLifetime = Duration.seconds(60)

    /// The wait before a transaction is started again after a conflict. It soon exceeds the time that a transaction of a few
    /// operations takes, so that of two that conflict one is done before the other one starts.
    public static let conflictRetries = RetrySchedule(first: .milliseconds(10), limit: .seconds(1))

    /// Runs `body` in a transaction: its writes commit together when it returns, and none does when it throws.
    ///
    /// Each read in it sees what is committed at that time, and what the transaction itself has written. A write locks its
    /// document; if another transaction has changed the document since this one read it, that is a conflict (MongoDB's 112, label
    /// `TransientTransactionError`). After a conflict, or if a lock couldn't be acquired, `body` is run again, up to five times in
    /// all. After `lifetime` all further operations fail (290), and Postgres ends a transaction that is idle for this long.
    /// - Parameter readsItsWrites: False if `body` reads nothing and writes each document at most once: then all are written together at
    ///   the end.
    public func withTransaction<R: Sendable>(
        app: String, lifetime: Duration = DocumentStore.transactionLifetime, readsItsWrites: Bool = true,
        beforeCommit: CommitHook? = nil, _ body: @Sendable (DocumentSession) async throws -> R
    ) async throws -> R {
        do {
            return try await run(
                app: app, flushes: readsItsWrites, lifetime: lifetime, beforeCommit: beforeCommit, body)
        } catch let error as PostgresError where error.isUniqueViolation {
            throw await translated(error)
        }
    }

    /// - Parameter flushes: whether later statements read what earlier ones wrote.
    func run<R: Sendable>(
        app: String, flushes: Bool, lifetime: Duration = DocumentStore.transactionLifetime,
        within limit: TimeLimit = TimeLimit(nil), beforeCommit: CommitHook?,
        _ body: @Sendable (DocumentSession) async throws -> R
    ) async throws -> R {
        let storage = try storage(of: app)
        var attempt = 0
        while true {
            attempt += 1
            do {
                return try await runOnce(
                    storage, flushes: flushes, lifetime: lifetime, within: limit, beforeCommit: beforeCommit, body)
            } catch let error as DocumentStoreError where flushes && error.mongoCode == 112 && attempt < 5 {
                try await Task.sleep(for: Self.conflictRetries.delay(after: attempt))
            } catch let error as PostgresError where error.isWorthAnotherAttempt && !error.isUniqueViolation {
                guard attempt < 5 else {
                    throw DocumentStoreError(
                        .conflict, "other writers kept changing the same documents", mongoCode: 112, underlying: error)
                }
                try await Task.sleep(for: Self.conflictRetries.delay(after: attempt))
            }
        }
    }

    private func runOnce<R: Sendable>(
        _ storage: AppStorage, flushes: Bool, lifetime: Duration, within limit: TimeLimit, beforeCommit: CommitHook?,
        _ body: @Sendable (DocumentSession) async throws -> R
    ) async throws -> R {
        do {
            let (result, heads) = try await client.withTransaction { transaction -> (R, PostgresRows?) in
                let session = DocumentSession(
                    store: self, storage: storage, transaction: transaction, flushes: flushes, lifetime: lifetime,
                    limit: limit)
                let result = try await body(session)
                if beforeCommit != nil { try await session.prepare() }
                let (statements, numbering) = await session.finish()
                try await beforeCommit?(transaction)
                let rows = try await transaction.commit(with: statements)
                return (result, statements.isEmpty ? nil : rows[numbering])
            }
            if let heads { committed(try CommittedHead.all(from: heads), app: storage.app) }
            return result
        } catch let error as PostgresError {
            throw error.causeOfRollback
        }
    }
}

public import DocumentModel
public import DocumentStore
import EventLoop

/// On whose behalf calls of the document store are carried out.
public enum DataAccess: Sendable {
    /// No rule applies.
    case system
    /// The app's data rules apply.
    case user(UserAccess)

    /// How long a client's call may take: the same as a function.
    public static let clientTimeLimit = Duration.seconds(90)
    /// The approximate limit of document bytes in one answer to a client.
    static let clientAnswerBytes = 32 << 20

    /// Carries out a call outside of any transaction of the caller. A write either commits or has no effect.
    /// - Throws: `DocumentStoreError`, `BulkWriteError`, `EffectFailure`, `RuleRefusal`.
    public func perform(_ call: DocumentCall, on store: DocumentStore, app: String) async throws -> Value {
        try await withTaskExecutorPreference(WorkerPool.shared) {
            switch self {
            case .system:
                return try await call.perform(
                    on: store.collection(call.namespace.collection, database: call.namespace.database, app: app))
            case .user(let user):
                try call.checkUnderRules()
                return try await call.timeLimit.run { try await user.perform(call, on: store) }
            }
        }
    }

    /// Carries out a call that a client makes directly. (A function has limits of its own.)
    /// - Throws: as `perform(_:on:app:)`; also MongoDB's error 50 after the time limit, and 292 for an answer that is too large.
    public func performForClient(
        _ call: DocumentCall, on store: DocumentStore, app: String, within time: Duration = clientTimeLimit
    ) async throws -> Value {
        let limited = call.limited(
            toMilliseconds: Int(time / .milliseconds(1)), answerBytes: Self.clientAnswerBytes)
        return try await perform(limited, on: store, app: app)
    }

    /// Carries out a call in the session's transaction.
    func perform(_ call: DocumentCall, in session: DocumentSession) async throws -> Value {
        try await withTaskExecutorPreference(WorkerPool.shared) {
            switch self {
            case .system:
                return try await call.perform(
                    on: session.collection(call.namespace.collection, database: call.namespace.database))
            case .user(let user):
                try call.checkUnderRules()
                return try await call.timeLimit.run { try await user.perform(call, in: session) }
            }
        }
    }
}

public import DocumentModel
public import DocumentStore
import EventLoop

/// As whom calls of the document store are carried out.
public enum DataAccess: Sendable {
    /// No rule applies.
    case system
    /// The app's data rules apply.
    case user(UserAccess)

    /// How long a call of a client may take: as long as a function.
    public static let clientTimeLimit = Duration.seconds(90)
    /// About how many bytes of documents a client gets at once.
    static let clientAnswerBytes = 32 << 20

    /// Carries a call out by itself: a write commits, or leaves nothing.
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

    /// Carries out a call that a client makes without a function, which would have limits of its own.
    /// - Throws: as `perform(_:on:app:)`; MongoDB's 50 after the time, 292 for a larger answer.
    public func performForClient(
        _ call: DocumentCall, on store: DocumentStore, app: String, within time: Duration = clientTimeLimit
    ) async throws -> Value {
        let limited = call.limited(
            toMilliseconds: Int(time / .milliseconds(1)), answerBytes: Self.clientAnswerBytes)
        return try await perform(limited, on: store, app: app)
    }

    /// Carries a call out in a transaction.
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

public import DocumentModel
public import DocumentStore

/// As whom calls of the document store are carried out.
public enum DataAccess: Sendable {
    /// No rule applies.
    case system
    /// The app's data rules apply.
    case user(UserAccess)

    /// Carries a call out by itself: a write commits, or leaves nothing.
    /// - Throws: `DocumentStoreError`, `BulkWriteError`, `EffectFailure`, `RuleRefusal`.
    public func perform(_ call: DocumentCall, on store: DocumentStore, app: String) async throws -> Value {
        switch self {
        case .system:
            return try await call.perform(
                on: store.collection(call.namespace.collection, database: call.namespace.database, app: app))
        case .user(let user): return try await user.perform(call, on: store)
        }
    }

    /// Carries a call out in a transaction.
    func perform(_ call: DocumentCall, in session: DocumentSession) async throws -> Value {
        switch self {
        case .system:
            return try await call.perform(
                on: session.collection(call.namespace.collection, database: call.namespace.database))
        case .user(let user): return try await user.perform(call, in: session)
        }
    }
}

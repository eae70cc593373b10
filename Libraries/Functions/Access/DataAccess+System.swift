public import DocumentModel
public import DocumentStore
import EventLoop

/// Calls that the system makes for operators, to whom no rule applies.
extension DataAccess {
    /// Passes the documents of a `find` or an `aggregate` to `body` one after the other, with bounded memory unless they are sorted.
    ///
    /// - Parameter body: Returns whether to continue.
    /// - Throws: `DocumentStoreError`, `EffectFailure`, and what `body` throws.
    public static func forEachDocument(
        of call: DocumentCall, on store: DocumentStore, app: String, _ body: (Document) async throws -> Bool
    ) async throws {
        let collection = store.collection(call.namespace.collection, database: call.namespace.database, app: app)
        switch call.action {
        case "find": try await collection.forEach(call.filter, options: call.findOptions, body)
        case "aggregate":
            try await collection.forEachResult(of: try call.pipeline, options: call.aggregateOptions, body)
        default: throw DocumentCall.unsupported(call.action)
        }
    }

    /// The first documents of a `find` or an `aggregate`: at least one, if there is one, and no more than a number of them and of bytes.
    ///
    /// - Parameters:
    ///   - bytes: of their canonical text, approximately.
    ///   - time: after which the call fails with MongoDB's 50.
    /// - Returns: also whether these are all.
    public static func firstDocuments(
        of call: DocumentCall, on store: DocumentStore, app: String, count: Int, bytes: Int, within time: Duration
    ) async throws -> (documents: [Document], isComplete: Bool) {
        let limited = call.limited(toMilliseconds: Int(time / .milliseconds(1)), answerBytes: bytes)
        return try await withTaskExecutorPreference(WorkerPool.shared) {
            var documents: [Document] = []
            var size = 0
            var isComplete = true
            try await forEachDocument(of: limited, on: store, app: app) { document in
                size += ExtendedJSON.print(.document(document)).utf8.count
                isComplete = documents.isEmpty || documents.count < count && size <= bytes
                if isComplete { documents.append(document) }
                return isComplete
            }
            return (documents, isComplete)
        }
    }

    /// Carries out a write of the system as a whole: in one transaction, or not at all.
    ///
    /// - Parameters:
    ///   - time: after which the call fails with MongoDB's 50.
    ///   - beforeCommit: See `CommitHook`.
    public static func performWhole(
        _ call: DocumentCall, on store: DocumentStore, app: String, within time: Duration,
        beforeCommit: @escaping CommitHook
    ) async throws -> Value {
        let limited = call.limited(toMilliseconds: Int(time / .milliseconds(1)), answerBytes: clientAnswerBytes)
        return try await store.withTransaction(app: app, lifetime: time, beforeCommit: beforeCommit) { session in
            try await DataAccess.system.perform(limited, in: session)
        }
    }
}

import DocumentModel
import FunctionProtocol
import Functions
import QueryLanguage

/// Which of the changes that a user sees a stream is to have: those of documents with some ids, and those that a filter on the
/// change event matches, such as `{"fullDocument.status": "open"}` or `{operationType: "insert"}`.
struct WatchSelection: Sendable {
    /// How long the filter may take for one change: meanwhile it keeps a thread from others.
    private static let limit = Duration.milliseconds(100)

    private let ids: Set<ExactText>?
    private let filter: Filter?

    /// - Throws: `QueryError` for a filter that isn't supported, `EffectFailure` for ids that aren't an array.
    init(_ call: DocumentCall) throws {
        let given = call.watchedIds
        ids = given.map { Set($0.compactMap { $0.idText.map { ExactText($0) } }) }
        filter = call.filter.isEmpty ? nil : try Filter(call.filter)
        guard filter?.nearness == nil else {
            throw EffectFailure(
                name: "MongoDBError", message: "$near is not supported in the filter of watch", code: 115)
        }
    }

    /// Whether it wants changes of a document. Cheap: called before anything is known about what the user sees.
    func wants(id: Value) -> Bool {
        guard let ids else { return true }
        return id.idText.map { ids.contains($0) } ?? false
    }

    /// Whether it has no filter.
    var hasFilter: Bool { filter != nil }

    /// Whether the filter matches an event, as the client would get it.
    /// - Throws: `QueryError` when the filter can't be evaluated on the event, or takes too long (50).
    func matches(_ event: Document, now: Int64) throws(QueryError) -> Bool {
        guard let filter else { return true }
        let deadline = ContinuousClock.now + Self.limit
        let interruption = Interruption {
            ContinuousClock.now < deadline
                ? nil : QueryError(code: 50, message: "the filter takes longer than \(Self.limit) for a change")
        }
        return try Interruption.$current.withValue(interruption) {
            Result { () throws(QueryError) in try filter.evaluate(event, now: now) }
        }.get()
    }
}

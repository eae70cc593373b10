import DocumentModel
import Functions
import QueryLanguage

/// A question to the document store that a decision depends on: a change of a document that matches, before or after, may change
/// the answer.
struct Dependency: Hashable, Sendable {
    let database: String
    let collection: String
    /// The key text of the one `_id` that the filter asks for, if it does.
    let id: String?
    /// Canonical Extended JSON.
    let filter: String

    init(_ call: DocumentCall) throws {
        let filter = try Filter(call.filter)
        database = call.namespace.database
        collection = call.namespace.collection
        id = filter.equalities.first { $0.path.description == "_id" }?.value.keyText
        self.filter = ExtendedJSON.print(filter.document)
    }

    init(database: String, collection: String, id: String?, filter: String) {
        self.database = database
        self.collection = collection
        self.id = id
        self.filter = filter
    }

    /// Whether a change is about a document that matched before it or matches after it. A filter that can't be read matches: asking
    /// once more is harmless.
    func concerns(_ change: ChangeEvent) -> Bool {
        if let id, id != change.documentKey.keyText { return false }
        guard let document = try? ExtendedJSON.parseDocument(filter), let filter = try? Filter(document) else {
            return true
        }
        return [change.fullDocument, change.fullDocumentBeforeChange].contains { $0.map(filter.matches) ?? false }
    }
}

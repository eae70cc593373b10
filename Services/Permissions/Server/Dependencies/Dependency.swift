import DocumentModel
import Functions
import QueryLanguage

/// A question to the document store that a decision depends on: a change of a document that matches, before or after, may change
/// the answer.
struct Dependency: Hashable, Sendable {
    @ExactText private(set) var database: String
    @ExactText private(set) var collection: String
    /// The key text of the one `_id` that the filter asks for, if it does.
    let id: String?
    /// By what it is found where any document may match; `nil` if by nothing but the collection.
    let anchor: DependencyAnchor?
    /// Canonical Extended JSON.
    @ExactText private(set) var filter: String

    init(_ call: DocumentCall) throws {
        self.init(
            database: call.namespace.database, collection: call.namespace.collection, filter: try Filter(call.filter))
    }

    init(database: String, collection: String, filter: Filter) {
        self.database = database
        self.collection = collection
        let id = filter.equalities.first { $0.path.description == "_id" }?.value.idText
        // No document's `_id` holds U+0000, and no row of this can.
        self.id = id?.utf8.contains(0) == true ? nil : id
        anchor = self.id == nil ? DependencyAnchor(filter) : nil
        self.filter = ExtendedJSON.print(filter.document)
    }

    /// As it is stored.
    init(database: String, collection: String, id: String?, filter: String) {
        self.database = database
        self.collection = collection
        self.id = id
        self.filter = filter
        anchor = nil
    }

    /// What is the same question: how it is found follows from the rest.
    static func == (a: Dependency, b: Dependency) -> Bool {
        a._database == b._database && a._collection == b._collection && a._filter == b._filter
            && a.id.map { ExactText($0) } == b.id.map { ExactText($0) }
    }

    func hash(into hasher: inout Hasher) {
        hasher.combine(_collection)
        hasher.combine(_filter)
    }

    /// Whether a change is about a document that matched before it or matches after it. A filter that can't be read matches, and
    /// so does one that asks for the present, which isn't that of the decision any more: asking once more is harmless.
    func concerns(_ change: ChangeEvent) -> Bool {
        if let id, change.documentKey.idText.map(id.hasSameBytes) != true { return false }
        guard !filter.contains("$$NOW"), let document = try? ExtendedJSON.parseDocument(filter),
            let filter = try? Filter(document)
        else { return true }
        return [change.fullDocument, change.fullDocumentBeforeChange].contains { image in
            image.map { filter.matches($0, now: change.wallTime) } ?? false
        }
    }
}

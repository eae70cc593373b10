import DocumentModel
import Functions
import QueryLanguage

/// A query to the document store that a decision depends on: a change of a document that matches it, before or after the change,
/// may change the answer.
struct Dependency: Hashable, Sendable {
    @ExactText private(set) var database: String
    @ExactText private(set) var collection: String
    /// The key text of the `_id` if the filter selects a single one.
    let id: String?
    /// The equality by which the dependency is found when any document may match; `nil` if only the collection is known.
    let anchor: DependencyAnchor?
    /// The filter as canonical Extended JSON.
    @ExactText private(set) var filter: String

    /// What the answer of a call depends on. Of the collections that it joins, every document counts.
    static func all(of call: DocumentCall) throws -> Set<Dependency> {
        let database = call.namespace.database
        let own = Dependency(
            database: database, collection: call.namespace.collection, filter: try call.dependencyFilter)
        let joined = try call.foreignCollections.map { name in
            Dependency(database: database, collection: name.text, filter: .all)
        }
        return Set(joined + [own])
    }

    init(database: String, collection: String, filter: Filter) {
        self.database = database
        self.collection = collection
        let id = filter.equalities.first { $0.path.description == "_id" }?.value.idText
        // No document's `_id` contains U+0000, and Postgres couldn't store it.
        self.id = id?.utf8.contains(0) == true ? nil : id
        anchor = self.id == nil ? DependencyAnchor(filter) : nil
        self.filter = ExtendedJSON.print(filter.document)
    }

    /// A dependency as it is stored.
    init(database: String, collection: String, id: String?, filter: String) {
        self.database = database
        self.collection = collection
        self.id = id
        self.filter = filter
        anchor = nil
    }

    /// The anchor isn't compared, since it follows from the filter.
    static func == (a: Dependency, b: Dependency) -> Bool {
        a._database == b._database && a._collection == b._collection && a._filter == b._filter
            && a.id.map { ExactText($0) } == b.id.map { ExactText($0) }
    }

    func hash(into hasher: inout Hasher) {
        hasher.combine(_collection)
        hasher.combine(_filter)
    }

    /// Whether a changed document matched before the change or matches after it. A filter that can't be parsed counts as matching,
    /// and so does one with `$$NOW`, whose value has changed since the decision: deciding once more is harmless.
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

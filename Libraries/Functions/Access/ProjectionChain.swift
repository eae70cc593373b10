import DocumentModel
import DocumentStore
import QueryLanguage

/// Projections one after the other: the app's filters' first, then the query's own.
struct ProjectionChain {
    private let projections: [Projection]
    private let filter: Filter?

    /// - Parameter filter: what found the documents; for `field.$`.
    /// - Throws: `QueryError`.
    init(_ projections: [Document], filter: Filter?) throws {
        self.projections = try projections.filter { !$0.fields.isEmpty }.map { try Projection($0) }
        self.filter = filter
    }

    func apply(to document: Document) throws -> Document {
        var document = document
        for projection in projections { document = try projection.apply(to: document, filter: filter) }
        return document
    }

    /// Whether these fields come through: a query must not find documents by what the app cuts out of them.
    func keeps(_ name: String) throws -> Bool {
        try apply(to: [name: true])[name] != nil
    }
}

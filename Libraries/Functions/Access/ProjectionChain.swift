import DocumentModel
import DocumentStore
import Foundation
import QueryLanguage

/// Projections one after the other: the app's filters' first, then the query's own.
struct ProjectionChain {
    private let projections: [Projection]
    private let filter: Filter?
    /// The moment of `$$NOW`.
    private let now = Int64(Date().timeIntervalSince1970 * 1000)

    /// - Parameter filter: what found the documents; looked at for `field.$` only, since it may have a `$text`, which is the store's.
    /// - Throws: `QueryError`.
    init(_ projections: [Document], positionedBy filter: Document?) throws {
        let projections = projections.filter { !$0.fields.isEmpty }
        self.projections = try projections.map { try Projection($0) }
        let isPositional = projections.contains { $0.fields.contains { $0.key.hasSuffix(".$") } }
        self.filter = isPositional ? try filter.map { try Filter($0) } : nil
    }

    func apply(to document: Document) throws -> Document {
        var document = document
        for projection in projections { document = try projection.apply(to: document, filter: filter, now: now) }
        return document
    }

    /// Whether these fields come through: a query must not find documents by what the app cuts out of them.
    func keeps(_ name: String) throws -> Bool {
        try apply(to: [name: true])[name] != nil
    }
}

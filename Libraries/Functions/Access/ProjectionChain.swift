import AppDefinition
import DocumentModel
import QueryLanguage

/// Projections that are applied one after the other: those of the app's filters, then the query's own.
struct ProjectionChain {
    private let projections: [Projection]
    private let filter: Filter?
    /// The moment of `$$NOW`.
    private let now: Int64

    /// - Parameter filter: the filter that found the documents. It is parsed only when a projection has `field.$`, because it may
    ///   contain `$text`, which only the store can evaluate.
    /// - Throws: `QueryError`.
    init(_ projections: [Document], positionedBy filter: Document?, now: Int64) throws {
        self.now = now
        let projections = projections.filter { !$0.fields.isEmpty }
        self.projections = try projections.map { try Projection($0) }
        let isPositional = projections.contains { $0.fields.contains { $0.key.hasSuffix(".$") } }
        self.filter = isPositional ? try filter.map { try Filter($0) } : nil
    }

    /// Whether it doesn't change documents.
    var isEmpty: Bool { projections.isEmpty }

    func apply(to document: Document) throws -> Document {
        var document = document
        for projection in projections { document = try projection.apply(to: document, filter: filter, now: now) }
        return document
    }

    /// Whether every value at a path remains unchanged. The `_id` always does.
    func keeps(_ path: [String]) -> Bool { path == ["_id"] || projections.allSatisfy { $0.keeps(path) } }

    /// Whether every value at the named paths remains unchanged.
    func keeps(_ paths: NamedPaths) -> Bool {
        if projections.isEmpty { return true }
        guard case .some(let paths) = paths else { return false }
        return paths.allSatisfy { keeps($0) }
    }
}

package import DocumentModel
import Postgres

/// A compiled `$search`, `$searchBeta` or `$searchMeta`.
///
/// The store runs one with `DocumentCollection/aggregate(_:options:)`. Who shows only a part of the found documents, as data rules
/// do, takes them from `DocumentCollection/forEachFound(by:options:_:)`, passes on what may be seen of each with its metadata
/// (`annotated(_:score:)`) to a pipeline of `stages(before:)`, counts it with `count`, and removes the metadata from the results
/// (`stripped(_:)`). A score depends on the found document alone, never on others.
package struct SearchSpecification: Sendable {
    let condition: String
    let score: String
    let parameters: [PostgresValue]
    let extensions: Set<String>
    private let highlights: SearchHighlights?
    let facets: [SearchFacet]
    /// Whether the count is named `total`; otherwise `lowerBound`.
    let countsTotal: Bool
    /// The sort; `nil` for the order of the scores.
    private let sort: Document?
    /// The paths of the fields by which documents are found, scored and sorted; `nil` if these may be any fields. Highlights and
    /// facets aren't among them: they are made of the documents that are passed to `annotated(_:score:)` and `count`.
    package let namedPaths: [String]?

    /// The stages that it is the specification of.
    package static let stages = ["$search", "$searchBeta", "$searchMeta"]
    /// The variable that has the metadata of a `$search`: `$$SEARCH_META`.
    package static let variable: ExactText = "SEARCH_META"

    /// - Throws: `DocumentStoreError` with MongoDB's code: 8 for a search that is wrong, 115 for what isn't supported.
    package init(_ specification: Document) throws(DocumentStoreError) {
        var operators = specification
        // `index` is ignored, since all texts of the collection can be searched.
        for key in ["index", "concurrent", "count", "highlight", "sort", "tracking"] { operators[key] = nil }
        for key in ["scoreDetails", "returnStoredSource", "searchAfter", "searchBefore", "returnScope"] {
            if let value = operators[key], value.boolValue != false { throw SearchError.unsupported(key) }
            operators[key] = nil
        }
        var facets: [SearchFacet] = []
        var compiler = SearchCompiler()
        var part = SearchCompiler.Part(condition: "true", score: "1")
        if case .document(let facet)? = operators["facet"] {
            guard operators.count == 1 else { throw SearchError.wrong("\"facet\" stands alone") }
            guard case .document(let wanted)? = facet["facets"], !wanted.isEmpty else {
                throw SearchError.wrong("\"facet.facets\" is required")
            }
            for field in wanted.fields { facets.append(try SearchFacet(field.key, field.value)) }
            if case .document(let inner)? = facet["operator"] { part = try compiler.compile(inner) }
        } else {
            guard operators.count == 1 else {
                throw SearchError.wrong(
                    operators.isEmpty
                        ? "one of \(SearchCompiler.operators.joined(separator: ", ")) is required"
                        : "unrecognized field \"\(operators.fields[operators.count - 1].key)\" beside the operator")
            }
            part = try compiler.compile(operators)
        }
        condition = part.condition
        score = "(\(part.score))::float8"
        parameters = compiler.parameters
        extensions = compiler.extensions
        self.facets = facets
        countsTotal = specification["count"]?["type"]?.stringValue == "total"
        if let order = specification["sort"] { sort = try SearchSort.stage(order) } else { sort = nil }
        namedPaths = compiler.places.map { $0 + SearchSort.paths(specification["sort"]) }
        if case .document(let options)? = specification["highlight"] {
            highlights = try SearchHighlights(options, terms: compiler.terms)
        } else {
            highlights = nil
        }
    }

    /// The stages that follow the search, in the form in which they find the metadata: the search's sort, then the given ones.
    package func stages(before rest: [Document]) -> [Document] {
        (sort.map { [$0] } ?? []) + rest.map { DocumentMetadata.rewritten($0) }
    }

    /// Whether stages use `$$SEARCH_META`. Counting reads all matches once more, so it is done only then.
    package static func needsCount(_ stages: [Document]) -> Bool { stages.contains { mentionsCount(.document($0)) } }

    private static func mentionsCount(_ value: Value) -> Bool {
        switch value {
        case .string(let text): text.startsWithBytes(of: "$$SEARCH_META")
        case .array(let elements): elements.contains { mentionsCount($0) }
        case .document(let document): document.fields.contains { mentionsCount($0.value) }
        default: false
        }
    }

    /// A found document, or what may be seen of it, with the metadata of which stages ask by `$meta`.
    package func annotated(_ document: Document, score: Double) -> Document {
        var annotated = document
        annotated[DocumentMetadata.searchScore.field] = .double(score)
        annotated[DocumentMetadata.searchHighlights.field] = highlights?.value(of: document)
        return annotated
    }

    /// A result without the fields that carry metadata.
    package static func stripped(_ document: Document) -> Document { DocumentMetadata.stripped(document) }

    /// A count of no document, which takes each document that was found.
    package var count: SearchCount { SearchCount(named: countName, facets: facets) }

    /// The name of the number in the metadata.
    var countName: String { countsTotal ? "total" : "lowerBound" }
}

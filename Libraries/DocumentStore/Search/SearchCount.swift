package import DocumentModel

/// Counts found documents, and the values of their facets, as `$searchMeta` and `$$SEARCH_META` show them.
///
/// Postgres counts the documents of a whole collection itself; this counts those that a user may see, as far as the user may see
/// them.
package struct SearchCount: Sendable {
    private let name: String
    private var facets: [FacetCount]
    private var count: Int64 = 0

    init(named name: String, facets: [SearchFacet]) {
        self.name = name
        self.facets = facets.map { FacetCount($0) }
    }

    /// Takes a document that was found.
    package mutating func add(_ document: Document) {
        count += 1
        for index in facets.indices { facets[index].add(document) }
    }

    /// `{count: …, facet: …}`.
    package var result: Document {
        Self.result(name, count, facets.map { ($0.facet.name, $0.buckets) })
    }

    static func result(_ name: String, _ count: Int64, _ facets: [(name: String, buckets: Value)]) -> Document {
        var result: Document = ["count": [name: .int64(count)]]
        if !facets.isEmpty {
            result["facet"] = .document(Document(facets.map { ($0.name, $0.buckets) }))
        }
        return result
    }
}

/// The buckets of one facet while documents are counted.
private struct FacetCount: Sendable {
    let facet: SearchFacet
    private var counts: [ExactText: Int64] = [:]

    init(_ facet: SearchFacet) { self.facet = facet }

    mutating func add(_ document: Document) {
        for key in facet.keys(of: document) { counts[key, default: 0] += 1 }
    }

    var buckets: Value {
        // As Postgres sorts them: the largest bucket first, equal ones by their bytes.
        let sorted = counts.sorted { a, b in
            a.value != b.value ? a.value > b.value : a.key.text.utf8.lexicographicallyPrecedes(b.key.text.utf8)
        }
        return facet.buckets(sorted.map { ($0.key.text, $0.value) })
    }
}

import DocumentModel

/// An update in the form of an aggregation pipeline.
struct UpdatePipeline: Sendable {
    init(_ stages: [Document]) throws(QueryError) { throw .notSupported("an update with an aggregation pipeline") }

    func apply(to document: Document, now: Int64) throws(QueryError) -> Document { document }
}

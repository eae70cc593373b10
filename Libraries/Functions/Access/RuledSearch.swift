import AppDefinition
import DocumentModel
import DocumentStore
import QueryLanguage

/// A pipeline that begins with `$search`, `$searchBeta` or `$searchMeta`.
struct RuledSearch {
    let specification: SearchSpecification
    /// Whether the pipeline is about the metadata, not about the documents.
    let isMeta: Bool
    /// Whether the stages use the metadata beside the documents.
    let needsCount: Bool
    /// The stages after the search.
    let pipeline: Pipeline

    /// - Returns: `nil` for any other pipeline.
    /// - Throws: `DocumentStoreError`, `QueryError`; `RuleRefusal` for a pipeline that writes.
    init?(_ call: DocumentCall) throws {
        let stages = try call.pipeline
        guard let first = stages.first, first.count == 1, let name = first.keys.first,
            SearchSpecification.stages.contains(name), case .document(let options)? = first[name]
        else { return nil }
        specification = try SearchSpecification(options)
        isMeta = name == "$searchMeta"
        let rest = Array(stages.dropFirst())
        let following = isMeta ? rest : specification.stages(before: rest)
        needsCount = !isMeta && SearchSpecification.needsCount(following)
        pipeline = try RuledCollection.reading(
            Pipeline(following, variables: isMeta ? [] : [SearchSpecification.variable]))
    }
}

extension RuledCollection {
    /// The results of a search and of the stages after it, of what the user may see.
    ///
    /// A document is found if the user may read all fields by which it is found, scored and sorted. Its highlights, the counts and
    /// the facets are made of what the user sees of it. Its score depends on no other document, so nothing tells of those that
    /// are hidden.
    func aggregate(_ search: RuledSearch, _ call: DocumentCall) async throws -> [Document] {
        let options = call.aggregateOptions
        var variables: [ExactText: Value] = [:]
        var count = search.specification.count
        if search.isMeta || search.needsCount {
            try await forEachFound(by: search.specification, options) { document, _ in
                count.add(document)
                return true
            }
            variables[SearchSpecification.variable] = .document(count.result)
        }
        var run = PipelineRun(search.pipeline, context: try context(collation: options.collation, variables: variables))
        var results = CollectedDocuments(limit: call.answerBytes)
        func collect(_ documents: [Document]) throws {
            try results.add(documents.map { SearchSpecification.stripped($0) })
        }
        if search.isMeta {
            try await run.process([count.result], collect)
        } else {
            // A join makes one query per batch.
            var batch: [Document] = []
            try await forEachFound(by: search.specification, options) { document, score in
                batch.append(search.specification.annotated(document, score: score))
                guard batch.count == PipelineContext.batchSize else { return true }
                try await run.process(batch, collect)
                batch.removeAll(keepingCapacity: true)
                return !run.isDone
            }
            try await run.process(batch, collect)
        }
        try await run.finish(collect)
        return results.documents
    }

    /// Passes the visible part of each document that a search finds, and its score, to `body`, the best first.
    private func forEachFound(
        by search: SearchSpecification, _ options: AggregateOptions,
        _ body: (Document, Double) async throws -> Bool
    ) async throws {
        let restriction = try await rules.restriction(of: request)
        let now = collection.now
        let cut = try ProjectionChain(restriction.projections, positionedBy: nil, now: now)
        let paths = NamedPaths(search.namedPaths)
        guard cut.keeps(paths) else { return }
        let allowed = try Filter(restriction.restricting([:]))
        var isMissing = false
        try await collection.forEachFound(by: search, options: options) { document, score in
            guard allowed.matches(document, now: now) else { return true }
            do {
                let visible = try await rules.visible(document, to: request, naming: paths, isSearch: true)
                // Once an answer is missing, the results are discarded. The remaining documents are examined only to find further
                // questions.
                guard let visible, !isMissing else { return true }
                return try await body(RuledQuery.shown(visible, through: cut), score)
            } catch is RuleAnswers.Missing {
                isMissing = true
                return !answers.isBatchFull
            }
        }
        if isMissing { throw RuleAnswers.Missing() }
    }
}

public import DocumentModel
import QueryLanguage

extension DocumentCollection {
    /// Runs an aggregation pipeline and returns its results; see ``forEachResult(of:options:_:)`` for large results.
    ///
    /// - Throws: `DocumentStoreError` with MongoDB's code; 292 when a stage or the result has more than 100 MiB.
    public func aggregate(
        _ stages: [Document], options: AggregateOptions = AggregateOptions()
    ) async throws -> [Document] {
        var results: [Document] = []
        var bytes = 0
        try await forEachResult(of: stages, options: options) { document in
            bytes += Value.document(document).approximateSize
            if bytes > Self.maximumCollectedBytes { throw DocumentStoreError.tooMuch }
            results.append(document)
            return true
        }
        return results
    }

    /// Runs an aggregation pipeline and passes its results to `body` one after the other, with bounded memory.
    ///
    /// Postgres evaluates the leading stages as a find (`LeadingStages`), and also groups if that gives the same result
    /// (`GroupTranslation`); the other stages run over the documents as they arrive. `$out` and `$merge` write the results of the
    /// stages before them, at most 100 MiB, and have no results themselves. `$search`, `$searchMeta` and `$text` use Postgres'
    /// full-text search.
    /// - Parameter body: Returns whether to continue.
    /// - Throws: `DocumentStoreError` with MongoDB's code; 292 when a stage holds more than 100 MiB.
    public func forEachResult(
        of stages: [Document], options: AggregateOptions = AggregateOptions(),
        _ body: (Document) async throws -> Bool
    ) async throws {
        let limit = TimeLimit(options.maxTimeMS)
        try await limit.run { try await forEachResult(of: stages, options: options, within: limit, body) }
    }

    private func forEachResult(
        of stages: [Document], options: AggregateOptions, within limit: TimeLimit,
        _ body: (Document) async throws -> Bool
    ) async throws {
        let stages = try await namingPlace(in: stages)
        let collation = options.collation
        let constants = try constants(options.variables)
        if let name = Self.outputStage(of: stages) {
            guard case .output(_, let target)? = try pipeline(stages, variables: Set(constants.keys)).stages.last
            else { return }
            var inner = options
            inner.maxTimeMS = limit.milliseconds
            let results = try await aggregate(stages.dropLast(), options: inner)
            return try await write(results, by: name, to: target)
        }
        if try await search(stages, options: options, within: limit, body) { return }
        let pipeline = try pipeline(stages, variables: Set(constants.keys))
        if case .documents? = pipeline.stages.first {
            return try await run(pipeline, collation: collation, variables: constants, within: limit, body) { _ in }
        }
        if let grouping = try await grouping(stages, options: options),
            let groups = try await groups(grouping, within: limit)
        {
            let rest = try self.pipeline(grouping.rest, variables: Set(constants.keys))
            return try await run(rest, collation: nil, variables: constants, within: limit, body) { take in
                for group in groups { guard try await take(group) else { return } }
            }
        }
        let leading = LeadingStages(of: pipeline)
        try await run(
            pipeline.dropFirst(leading.count), collation: collation, variables: constants, within: limit, body
        ) { take in
            try await forEach(leading.filter, options: leading.options(options), take)
        }
    }

    /// Another collection of the same database, or of another database of the app, in the same session.
    public func sibling(_ name: String, database: String? = nil) -> DocumentCollection {
        DocumentCollection(
            store: store, app: app, namespace: .init(database: database ?? namespace.database, collection: name),
            session: session)
    }

    // MARK: How

    func pipeline(_ stages: [Document], variables: Set<ExactText> = []) throws -> Pipeline {
        do {
            return try Pipeline(stages, variables: variables)
        } catch {
            throw DocumentStoreError(query: error, .badFilter)
        }
    }

    /// Passes the documents of a source to a pipeline until it needs no more, and passes on the pipeline's results.
    func run(
        _ pipeline: Pipeline, collation: Document?, variables: [ExactText: Value] = [:], within limit: TimeLimit,
        _ body: (Document) async throws -> Bool,
        over source: @escaping ((Document) async throws -> Bool) async throws -> Void
    ) async throws {
        do {
            let context = PipelineContext(
                now: store.clock.now(), variables: variables,
                collation: try collation.flatMap { try Collation($0) }, memoryLimit: Self.maximumCollectedBytes
            ) { name, filter in
                try limit.check()
                let options = FindOptions(collation: collation, maxTimeMS: limit.milliseconds)
                return try await sibling(name).find(filter.document, options: options)
            }
            var run = PipelineRun(pipeline, context: context)
            var batch: [Document] = []
            var isWanted = true
            func give(_ results: [Document]) async throws {
                try limit.check()
                for document in results where isWanted { isWanted = try await body(document) }
                if !isWanted { throw Enough() }
            }
            /// Whether more documents are wanted.
            func take(_ batch: [Document]) async throws -> Bool {
                do {
                    try await run.process(batch, give)
                    return !run.isDone
                } catch is Enough {
                    return false
                }
            }
            try await source { document in
                batch.append(document)
                guard batch.count == PipelineContext.batchSize else { return true }
                defer { batch.removeAll(keepingCapacity: true) }
                return try await take(batch)
            }
            if isWanted { _ = try await take(batch) }
            if isWanted { try await run.finish(give) }
        } catch is Enough {
            // The consumer of the results doesn't want the last ones either.
        } catch let error as QueryError {
            throw DocumentStoreError(query: error, .badFilter)
        }
    }
}

/// Ends a pipeline whose consumer wants no more results.
private struct Enough: Error {}

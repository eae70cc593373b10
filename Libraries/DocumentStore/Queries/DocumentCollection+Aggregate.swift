public import DocumentModel
import Foundation
import QueryLanguage

extension DocumentCollection {
    /// Runs an aggregation pipeline and returns its results; see ``forEachResult(of:collation:maxTimeMS:_:)`` for more of them.
    ///
    /// - Throws: `DocumentStoreError` with MongoDB's code; 292 when a stage or the result has more than 100 MiB.
    public func aggregate(
        _ stages: [Document], collation: Document? = nil, maxTimeMS: Int? = nil
    ) async throws -> [Document] {
        var results: [Document] = []
        var bytes = 0
        try await forEachResult(of: stages, collation: collation, maxTimeMS: maxTimeMS) { document in
            bytes += Value.document(document).approximateSize
            if bytes > Self.maximumCollectedBytes { throw DocumentStoreError.tooMuch }
            results.append(document)
            return true
        }
        return results
    }

    /// Runs an aggregation pipeline and gives its results one after the other, with bounded memory.
    ///
    /// A leading `$match` is looked for by Postgres, which also groups where that gives the same (`GroupTranslation`); the other
    /// stages run over the documents as they come. `$out` and `$merge` are
    /// refused by name. `$search`, `$searchMeta` and `$text` are Postgres' own search.
    /// - Parameters:
    ///   - maxTimeMS: After how many milliseconds it fails with MongoDB's code 50; `nil` or 0: the server's own limit.
    ///   - body: returns whether it wants more.
    /// - Throws: `DocumentStoreError` with MongoDB's code; 292 when a stage holds more than 100 MiB.
    public func forEachResult(
        of stages: [Document], collation: Document? = nil, maxTimeMS: Int? = nil,
        _ body: (Document) async throws -> Bool
    ) async throws {
        let limit = TimeLimit(maxTimeMS)
        if try await search(stages, collation: collation, within: limit, body) { return }
        let pipeline = try pipeline(stages)
        if session == nil, collation == nil, let (groups, rest) = try await grouped(stages, within: limit) {
            return try await run(self.pipeline(rest), collation: nil, within: limit, body) { take in
                for group in groups { guard try await take(group) else { return } }
            }
        }
        let options = FindOptions(collation: collation, maxTimeMS: maxTimeMS)
        switch pipeline.stages.first {
        case .match(let filter) where filter.nearness == nil:
            try await run(pipeline.dropFirst(1), collation: collation, within: limit, body) { take in
                try await forEach(filter.document, options: options, take)
            }
        case .documents:
            try await run(pipeline, collation: collation, within: limit, body) { _ in }
        default:
            try await run(pipeline, collation: collation, within: limit, body) { take in
                try await forEach(options: options, take)
            }
        }
    }

    /// Another collection of the database, in the same session.
    public func sibling(_ name: String) -> DocumentCollection {
        DocumentCollection(
            store: store, app: app, namespace: .init(database: namespace.database, collection: name), session: session)
    }

    // MARK: How

    func pipeline(_ stages: [Document], variables: Set<String> = []) throws -> Pipeline {
        do {
            let pipeline = try Pipeline(stages, variables: variables)
            for case .output(let name, _) in pipeline.stages {
                throw DocumentStoreError(.notSupported, "\(name) is not supported", mongoCode: 115)
            }
            return pipeline
        } catch let error as QueryError {
            throw DocumentStoreError(query: error, .badFilter)
        }
    }

    /// Feeds a pipeline with the documents of a source, until it wants no more, and gives what comes out.
    func run(
        _ pipeline: Pipeline, collation: Document?, variables: [String: Value] = [:], within limit: TimeLimit,
        _ body: (Document) async throws -> Bool,
        over source: @escaping ((Document) async throws -> Bool) async throws -> Void
    ) async throws {
        do {
            let context = PipelineContext(
                now: Int64(Date().timeIntervalSince1970 * 1000), variables: variables,
                collation: try collation.flatMap { try Collation($0) }, memoryLimit: Self.maximumCollectedBytes
            ) { name, filter in
                try limit.check()
                return try await sibling(name).find(filter.document)
            }
            var run = PipelineRun(pipeline, context: context)
            var batch: [Document] = []
            var isWanted = true
            func give(_ results: [Document]) async throws {
                try limit.check()
                for document in results where isWanted { isWanted = try await body(document) }
            }
            try await source { document in
                batch.append(document)
                guard batch.count == PipelineContext.batchSize else { return true }
                try await give(run.process(batch))
                batch.removeAll(keepingCapacity: true)
                return isWanted && !run.isDone
            }
            if isWanted { try await give(run.process(batch)) }
            if isWanted { try await give(run.finish()) }
        } catch let error as QueryError {
            throw DocumentStoreError(query: error, .badFilter)
        }
    }
}

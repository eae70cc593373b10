public import DocumentModel
import Foundation
import QueryLanguage

extension DocumentCollection {
    /// Runs an aggregation pipeline.
    ///
    /// A leading `$match` is looked for by Postgres; the other stages run over the documents as they come, with bounded memory.
    /// `$out` and `$merge` write
    /// what the stages before them give, and return nothing. `$search` is refused by name.
    /// - Throws: `DocumentStoreError` with MongoDB's code; 292 when a stage or the result has more than 100 MiB.
    public func aggregate(_ stages: [Document], collation: Document? = nil) async throws -> [Document] {
        let pipeline: Pipeline
        let parsedCollation: Collation?
        do {
            pipeline = try Pipeline(stages)
            parsedCollation = try collation.flatMap { try Collation($0) }
        } catch {
            throw DocumentStoreError(query: error, .badFilter)
        }
        if case .output(let name, let target)? = pipeline.stages.last {
            let results = try await aggregate(stages.dropLast(), collation: collation)
            try await write(results, by: name, to: target)
            return []
        }
        let context = PipelineContext(
            now: Int64(Date().timeIntervalSince1970 * 1000), collation: parsedCollation,
            memoryLimit: Self.maximumCollectedBytes
        ) { name, filter in
            try await sibling(name).find(filter.document)
        }
        if case .match(let filter) = pipeline.stages.first, filter.nearness == nil {
            return try await run(pipeline.dropFirst(1), over: filter.document, context, collation: collation)
        }
        if case .documents = pipeline.stages.first {
            var run = PipelineRun(pipeline, context: context)
            do {
                return try await run.finish()
            } catch let error as QueryError {
                throw DocumentStoreError(query: error, .badFilter)
            }
        }
        return try await run(pipeline, over: [:], context, collation: collation)
    }

    /// Another collection of the database, in the same session.
    func sibling(_ name: String, database: String? = nil) -> DocumentCollection {
        DocumentCollection(
            store: store, app: app, namespace: .init(database: database ?? namespace.database, collection: name),
            session: session)
    }

    private func run(
        _ pipeline: Pipeline, over filter: Document, _ context: PipelineContext, collation: Document?
    ) async throws -> [Document] {
        var run = PipelineRun(pipeline, context: context)
        var results: [Document] = []
        var batch: [Document] = []
        do {
            try await forEach(filter, options: FindOptions(collation: collation)) { document in
                batch.append(document)
                guard batch.count == PipelineContext.batchSize else { return true }
                results += try await run.process(batch)
                batch.removeAll(keepingCapacity: true)
                return !run.isDone
            }
            results += try await run.process(batch)
            return results + (try await run.finish())
        } catch let error as QueryError {
            throw DocumentStoreError(query: error, .badFilter)
        }
    }
}

import AppDefinition
import DocumentModel
import DocumentStore
import Foundation
import FunctionProtocol
import QueryLanguage

/// A collection as a user may see it.
struct RuledCollection: Sendable {
    /// The bytes of documents that an answer may have, as MongoDB has it for a blocking sort.
    private static let maximumBytes = 100 << 20

    private let collection: DocumentCollection
    private let rules: DocumentRules
    private let findRules: @Sendable (ChangeEvent.Namespace) -> DocumentRules?
    private let request: RuleRequest
    private let answers: RuleAnswers

    /// - Parameter rules: the rules of the database's collections.
    /// - Throws: `RuleRefusal` for a collection without rules.
    init(
        _ collection: DocumentCollection,
        rules findRules: @escaping @Sendable (ChangeEvent.Namespace) -> DocumentRules?,
        request: RuleRequest, answers: RuleAnswers
    ) throws {
        guard let rules = findRules(collection.namespace) else { throw RuleRefusal.noRules(for: collection.namespace) }
        self.collection = collection
        self.rules = rules
        self.findRules = findRules
        self.request = request
        self.answers = answers
    }

    /// Carries out a call that reads.
    func read(_ call: DocumentCall) async throws -> Value {
        switch call.action {
        case "find": return .array(try await find(call, options: call.findOptions).map { .document($0) })
        case "findOne":
            var options = call.findOptions
            options.limit = 1
            return try await find(call, options: options).first.map { .document($0) } ?? .null
        case "count", "countDocuments", "estimatedDocumentCount":
            var options = call.findOptions
            (options.sort, options.projection) = (nil, nil)
            var count: Int64 = 0
            try await forEach(call.filter, options: options) { _ in
                count += 1
                return true
            }
            return .int64(count)
        case "distinct":
            var values = DistinctValues(try call.field)
            try await forEachVisible(call.filter, options: call.findOptions) { document in
                values.add(document)
                return true
            }
            return .array(values.result)
        case "aggregate": return .array(try await aggregate(call).map { .document($0) })
        default: throw DocumentCall.unsupported(call.action)
        }
    }

    // MARK: Queries

    private func find(_ call: DocumentCall, options: FindOptions) async throws -> [Document] {
        var found: [Document] = []
        var bytes = 0
        let projection = try ProjectionChain(options.projection.map { [$0] } ?? [], filter: Filter(call.filter))
        try await forEach(call.filter, options: options) { document in
            try Self.count(document, in: &bytes)
            found.append(try projection.apply(to: document))
            return true
        }
        return found
    }

    /// Gives the documents that match and may be seen, as far as they may. Order, skip and limit are those of what is seen: what a
    /// document hides moves it nowhere.
    private func forEach(
        _ filter: Document, options: FindOptions, _ body: (Document) async throws -> Bool
    ) async throws {
        var stages: [Document] = []
        if let sort = options.sort, !sort.fields.isEmpty { stages.append(["$sort": .document(sort)]) }
        if options.skip > 0 { stages.append(["$skip": .int64(Int64(options.skip))]) }
        if let limit = options.limit { stages.append(["$limit": .int64(Int64(limit))]) }
        var run = PipelineRun(try Pipeline(stages), context: try context(collation: options.collation))
        try await forEachVisible(filter, options: options) { document in
            for result in try await run.process([document]) where try await !body(result) { return false }
            return !run.isDone
        }
        for result in try await run.finish() where try await !body(result) { return }
    }

    private func aggregate(_ call: DocumentCall) async throws -> [Document] {
        let pipeline = try Pipeline(try call.pipeline)
        for case .output(let name, _) in pipeline.stages { throw RuleRefusal.systemOnly(name) }
        let options = call.findOptions
        let collation = options.collation
        let context = try context(collation: collation)
        var rest = pipeline
        var filter: Document = [:]
        switch pipeline.stages.first {
        case .documents?:
            return try await pipeline.run([], context: context)
        case .search(let name, let search)?:
            rest = pipeline.dropFirst(1)
            let found = try await collection.aggregate([[name: .document(search)]], collation: collation)
            guard name == "$search" else { throw RuleRefusal.systemOnly(name) }
            var run = PipelineRun(rest, context: context)
            var results: [Document] = []
            try await visible(found, naming: .none, isSearch: true) { results += try await run.process([$0]) }
            return results + (try await run.finish())
        case .match(let first)? where first.nearness == nil:
            rest = pipeline.dropFirst(1)
            filter = first.document
        default: break
        }
        var run = PipelineRun(rest, context: context)
        var results: [Document] = []
        var bytes = 0
        func take(_ documents: [Document]) throws {
            for document in documents { try Self.count(document, in: &bytes) }
            results += documents
        }
        // Joins ask once for each batch.
        var batch: [Document] = []
        try await forEachVisible(filter, options: options) { document in
            batch.append(document)
            guard batch.count == PipelineContext.batchSize else { return true }
            try take(try await run.process(batch))
            batch.removeAll(keepingCapacity: true)
            return !run.isDone
        }
        try take(try await run.process(batch))
        try take(try await run.finish())
        return results
    }

    /// What stages need; they see other collections as the user may.
    private func context(collation: Document?) throws -> PipelineContext {
        PipelineContext(
            now: Int64(Date().timeIntervalSince1970 * 1000), collation: try collation.flatMap { try Collation($0) },
            memoryLimit: Self.maximumBytes
        ) { name, filter in
            let other = try RuledCollection(
                collection.sibling(name), rules: findRules, request: request, answers: answers)
            var found: [Document] = []
            var bytes = 0
            try await other.forEachVisible(filter.document, options: FindOptions(collation: collation)) { document in
                try Self.count(document, in: &bytes)
                found.append(document)
                return true
            }
            return found
        }
    }

    // MARK: What may be seen

    /// Gives what may be seen of the documents that match, in the store's order.
    ///
    /// - Parameter options: how they are looked for; their order and number is the caller's.
    private func forEachVisible(
        _ filter: Document, options: FindOptions, _ body: (Document) async throws -> Bool
    ) async throws {
        let restriction = try await rules.restriction(of: request)
        let cut = try ProjectionChain(restriction.projections, filter: nil)
        let paths = NamedPaths(filter: filter)
        guard try Self.mayName(paths, through: cut, isCut: !restriction.projections.isEmpty) else { return }
        var isMissing = false
        try await collection.forEach(
            restriction.restricting(filter),
            options: FindOptions(collation: options.collation, hint: options.hint, maxTimeMS: options.maxTimeMS)
        ) { document in
            do {
                let visible = try await rules.visible(document, to: request, naming: paths)
                // With an answer missing, what was seen is thrown away: the rest is only to learn what else is to be asked.
                guard let visible, !isMissing else { return true }
                return try await body(try cut.apply(to: visible))
            } catch is RuleAnswers.Missing {
                isMissing = true
                return !answers.isBatchFull
            }
        }
        if isMissing { throw RuleAnswers.Missing() }
    }

    private func visible(
        _ found: [Document], naming paths: NamedPaths, isSearch: Bool, _ body: (Document) async throws -> Void
    ) async throws {
        let restriction = try await rules.restriction(of: request)
        let cut = try ProjectionChain(restriction.projections, filter: nil)
        let allowed = try Filter(restriction.restricting([:]))
        for document in found where allowed.matches(document) {
            guard let visible = try await rules.visible(document, to: request, naming: paths, isSearch: isSearch) else {
                continue
            }
            try await body(try cut.apply(to: visible))
        }
    }

    /// Whether a query names only what the app's filters leave in the documents.
    private static func mayName(_ paths: NamedPaths, through cut: ProjectionChain, isCut: Bool) throws -> Bool {
        guard isCut else { return true }
        guard case .some(let paths) = paths else { return false }
        for path in paths {
            if let name = path.first, name != "_id", try !cut.keeps(name) { return false }
        }
        return true
    }

    private static func count(_ document: Document, in bytes: inout Int) throws {
        bytes += Value.document(document).approximateSize
        guard bytes <= maximumBytes else {
            throw EffectFailure(
                name: "MongoDBError", message: "the documents have more than 100 MiB: limit them", code: 292)
        }
    }
}

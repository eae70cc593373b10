import AppDefinition
import DocumentModel
import DocumentStore
import FunctionProtocol
import QueryLanguage

/// A collection, restricted to what a user may see.
struct RuledCollection: Sendable {
    /// The number of document bytes that a stage may hold; the same as MongoDB's limit for a blocking sort.
    private static let maximumBytes = 100 << 20

    let collection: DocumentCollection
    let rules: DocumentRules
    private let findRules: @Sendable (ChangeEvent.Namespace) -> DocumentRules?
    let request: RuleRequest
    let answers: RuleAnswers

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
            var options = call.findOptions
            var values = DistinctValues(
                try call.field, collation: try options.collation.flatMap { try Collation($0) })
            (options.sort, options.projection) = (nil, nil)
            try await forEachVisible(call.filter, options: options) { document, _ in
                try values.add(document)
                return true
            }
            return .array(values.result)
        case "explain": return .document(try await explain(call))
        case "aggregate": return .array(try await aggregate(call).map { .document($0) })
        default: throw DocumentCall.unsupported(call.action)
        }
    }

    // MARK: Queries

    private func find(_ call: DocumentCall, options: FindOptions) async throws -> [Document] {
        let projection = try ProjectionChain(
            options.projection.map { [$0] } ?? [], positionedBy: call.filter, now: collection.now)
        return try await results(
            of: call.filter, options: options, through: Pipeline([]), context(collation: options.collation),
            within: call.answerBytes, as: projection)
    }

    private func aggregate(_ call: DocumentCall) async throws -> [Document] {
        if let search = try RuledSearch(call) { return try await aggregate(search, call) }
        let pipeline = try Self.reading(Pipeline(await collection.namingPlace(in: call.pipeline)))
        let options = call.aggregateOptions
        let context = try context(collation: options.collation)
        if case .documents? = pipeline.stages.first { return try await pipeline.run([], context: context) }
        let leading = LeadingStages(of: pipeline)
        let rest = pipeline.dropFirst(leading.count)
        return try await results(
            of: leading.filter, options: leading.options(options), through: rest, context, within: call.answerBytes)
    }

    /// A pipeline that writes nothing.
    static func reading(_ pipeline: Pipeline) throws -> Pipeline {
        for case .output(let name, _) in pipeline.stages { throw RuleRefusal.systemOnly(name) }
        return pipeline
    }

    /// Thrown when the stored documents have a different order than the visible ones.
    private struct HiddenOrder: Error {}

    /// The result of a pipeline over the visible parts of the matching documents.
    /// - Parameter projection: What is made of each result before it counts towards the limit of bytes.
    private func results(
        of filter: Document, options: FindOptions, through pipeline: Pipeline, _ context: PipelineContext,
        within bytes: Int, as projection: ProjectionChain? = nil
    ) async throws -> [Document] {
        let stored = try await query(filter, collation: options.collation).stored
        if options.sort != nil, try await collection.hasIndexedOrder(stored, options: options) {
            do {
                return try await results(
                    of: filter, options: options, inOrder: true, through: pipeline, context, within: bytes,
                    as: projection)
            } catch is HiddenOrder {}
        }
        return try await results(
            of: filter, options: options, inOrder: false, through: pipeline, context, within: bytes, as: projection)
    }

    private func results(
        of filter: Document, options: FindOptions, inOrder: Bool, through pipeline: Pipeline,
        _ context: PipelineContext, within limit: Int, as projection: ProjectionChain?
    ) async throws -> [Document] {
        var run = PipelineRun(pipeline, context: context)
        var results = CollectedDocuments(limit: limit)
        func add(_ part: [Document]) throws {
            try results.add(try projection.map { projection in try part.map { try projection.apply(to: $0) } } ?? part)
        }
        // A join makes one query per batch.
        var batch: [Document] = []
        try await forEach(filter, options: options, inOrder: inOrder) { document in
            batch.append(document)
            guard batch.count == PipelineContext.batchSize else { return true }
            try await run.process(batch, add)
            batch.removeAll(keepingCapacity: true)
            return !run.isDone
        }
        try await run.process(batch, add)
        try await run.finish(add)
        return results.documents
    }

    /// Passes the visible parts of the matching documents to `body`. Sort, skip and limit apply to these visible parts: hidden
    /// fields don't affect a document's position.
    ///
    /// - Parameter inOrder: whether the store returns them in the requested order.
    /// - Throws: `HiddenOrder` when the store's order turns out to differ from that of the visible documents.
    private func forEach(
        _ filter: Document, options: FindOptions, inOrder: Bool = false, _ body: (Document) async throws -> Bool
    ) async throws {
        var stages: [Document] = []
        let sort = try Sort(options.sort ?? [:], collation: try options.collation.flatMap { try Collation($0) })
        if !sort.keys.isEmpty, !inOrder { stages.append(["$sort": .document(options.sort ?? [:])]) }
        if options.skip > 0 { stages.append(["$skip": .int64(Int64(options.skip))]) }
        if let limit = options.limit { stages.append(["$limit": .int64(Int64(limit))]) }
        var run = PipelineRun(try Pipeline(stages), context: try context(collation: options.collation))
        var stored = options
        (stored.skip, stored.limit, stored.projection) = (0, nil, nil)
        if !inOrder { stored.sort = nil }
        try await forEachVisible(filter, options: stored) { document, original in
            if inOrder, sort.compare(document, original) != 0 { throw HiddenOrder() }
            for result in try await run.process([document]) where try await !body(result) { return false }
            return !run.isDone
        }
        for result in try await run.finish() where try await !body(result) { return }
    }

    /// Explains how a call is carried out, without the SQL and the plans, which would reveal rules and documents.
    private func explain(_ call: DocumentCall) async throws -> Document {
        var filter = call.filter
        var options = call.findOptions
        var names: [String] = []
        var leading = 0
        var isSearch = false
        if call.hasPipeline {
            names = try call.pipeline.map { $0.keys.first ?? "" }
            isSearch = try RuledSearch(call) != nil
            let pipeline =
                try isSearch
                ? Pipeline([]) : Self.reading(Pipeline(await collection.namingPlace(in: call.pipeline)))
            let stages = LeadingStages(of: pipeline)
            (filter, options, leading) = (stages.filter, stages.options(call.aggregateOptions), stages.count)
        }
        // Not what the roles reach, which would tell by what the rules decide.
        var restriction = try await rules.restriction(of: request)
        restriction.reach = nil
        let stored = try RuledQuery(
            filter, collation: options.collation, rules: rules, restriction: restriction, request: request,
            now: collection.now
        ).stored
        let isOrdered = try await collection.hasIndexedOrder(stored, options: options)
        if !isOrdered { options.sort = nil }
        (options.skip, options.limit, options.projection) = (0, nil, nil)
        var explanation = try await collection.explain(stored, options: options)
        explanation["postgres"] = nil
        var here = explanation["here"]?.arrayValue ?? []
        here.append("rules")
        guard call.hasPipeline else {
            let asked = call.findOptions
            if !isOrdered, asked.sort != nil { here.append("sort") }
            if asked.skip > 0 || asked.limit != nil { here.append("limit") }
            if asked.projection != nil { here.append("projection") }
            explanation["here"] = .array(here)
            return explanation
        }
        explanation["here"] = nil
        explanation["stages"] = .array(
            names.enumerated().map { place, name in
                let isStored =
                    place == 0 && isSearch || place < leading && (name == "$match" || name == "$sort" && isOrdered)
                return ["stage": .string(name), "in": isStored ? "both" : "here"]
            })
        return explanation
    }

    /// The context of pipeline stages. Stages that read other collections see what the user may see of them.
    func context(collation: Document?, variables: [ExactText: Value] = [:]) throws -> PipelineContext {
        PipelineContext(
            now: collection.now, variables: variables, collation: try collation.flatMap { try Collation($0) },
            memoryLimit: Self.maximumBytes
        ) { name, filter in
            let other = try RuledCollection(
                collection.sibling(name), rules: findRules, request: request, answers: answers)
            var found = CollectedDocuments(limit: Self.maximumBytes)
            try await other.forEachVisible(filter.document, options: FindOptions(collation: collation)) { document, _ in
                try found.add([document])
                return true
            }
            return found.documents
        }
    }

    // MARK: What may be seen

    private func query(_ filter: Document, collation: Document?) async throws -> RuledQuery {
        try await RuledQuery(
            filter, collation: collation, rules: rules, restriction: rules.restriction(of: request), request: request,
            now: collection.now)
    }

    /// Passes the visible part of each matching document, and the whole document, to `body`, in the store's order.
    private func forEachVisible(
        _ filter: Document, options: FindOptions, _ body: (Document, Document) async throws -> Bool
    ) async throws {
        let query = try await query(filter, collation: options.collation)
        var isMissing = false
        try await collection.forEach(query.stored, options: options) { document in
            do {
                let view = try await query.view(of: document)
                // Once an answer is missing, the results are discarded. The remaining documents are examined only to find further
                // questions.
                guard let view, !isMissing else { return true }
                return try await body(view, document)
            } catch is RuleAnswers.Missing {
                isMissing = true
                return !answers.isBatchFull
            }
        }
        if isMissing { throw RuleAnswers.Missing() }
    }
}

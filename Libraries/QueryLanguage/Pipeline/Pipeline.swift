import DocumentModel

/// An aggregation pipeline, parsed once.
public struct Pipeline: Sendable {
    /// The stages in their order.
    public let stages: [Stage]

    /// The most stages that a pipeline may have.
    public static let maximumStages = 1000

    /// Parses a pipeline. Unknown and unsupported stages are refused with an error that names them.
    /// - Parameter variables: the names of variables that the context will define, without `$$`.
    public init(_ stages: [Document], variables: Set<ExactText> = []) throws(QueryError) {
        try self.init(stages, variables: variables, depth: 0)
    }

    /// Parses an array of stages.
    ///
    /// Disfavored, so that a literal is an array of documents.
    @_disfavoredOverload
    public init(_ value: Value, variables: Set<ExactText> = []) throws(QueryError) {
        try self.init(try Self.documents(value), variables: variables)
    }

    init(_ stages: [Document], variables: Set<ExactText>, depth: Int) throws(QueryError) {
        guard stages.count <= Self.maximumStages else {
            throw QueryError(
                code: 7_749_501, message: "Pipeline length must be no longer than \(Self.maximumStages) stages")
        }
        guard depth <= 20 else {
            throw QueryError(code: 232, message: "Maximum number of nested sub-pipelines exceeded. Limit is 20")
        }
        let parser = StageParser(variables: variables, depth: depth)
        var parsed: [Stage] = []
        for document in stages { parsed += try parser.parse(document) }
        for (index, stage) in parsed.enumerated() {
            switch stage {
            case .output(let name, _) where index != parsed.count - 1:
                throw QueryError(code: 40601, message: "\(name) can only be the final stage in the pipeline")
            case .search, .documents, .geoNear:
                guard index == 0 else {
                    throw QueryError(
                        code: 40602, message: "\(stage.name) is only valid as the first stage in a pipeline")
                }
            default: break
            }
        }
        self.stages = parsed
    }

    private init(parsed: [Stage]) { stages = parsed }

    /// The names of the other collections that the stages read, also those of their own pipelines.
    public var foreignCollections: Set<ExactText> {
        stages.reduce(into: []) { names, stage in
            switch stage {
            case .lookup(let lookup):
                if let name = lookup.collection { names.insert(ExactText(name)) }
                if let pipeline = lookup.pipeline { names.formUnion(pipeline.foreignCollections) }
            case .graphLookup(let graph): names.insert(ExactText(graph.collection))
            case .unionWith(let collection, let pipeline):
                if let collection { names.insert(ExactText(collection)) }
                names.formUnion(pipeline.foreignCollections)
            case .facet(let parts):
                for part in parts { names.formUnion(part.pipeline.foreignCollections) }
            default: break
            }
        }
    }

    /// The pipeline without its first stages, for when those ran elsewhere.
    public func dropFirst(_ count: Int) -> Pipeline { Pipeline(parsed: Array(stages.dropFirst(count))) }

    static func documents(_ value: Value) throws(QueryError) -> [Document] {
        guard case .array(let elements) = value else { throw .typeMismatch("A pipeline must be an array of objects") }
        var stages: [Document] = []
        for element in elements {
            guard case .document(let stage) = element else {
                throw .typeMismatch("Each element of the 'pipeline' array must be an object")
            }
            stages.append(stage)
        }
        return stages
    }

    /// Runs over documents that are all in memory.
    /// - Throws: `QueryError`, or what the source throws.
    public func run(_ documents: [Document], context: PipelineContext) async throws -> [Document] {
        var run = PipelineRun(self, context: context)
        var results = CollectedResults(context)
        var rest = documents[...]
        while !rest.isEmpty, !run.isDone {
            try await run.process(Array(rest.prefix(PipelineContext.batchSize))) { try results.add($0) }
            rest = rest.dropFirst(PipelineContext.batchSize)
        }
        try await run.finish { try results.add($0) }
        return results.documents
    }
}

/// The environment of a pipeline's run.
public struct PipelineContext: Sendable {
    /// A suitable number of documents per batch.
    public static let batchSize = 256
    /// About how many bytes of documents a step passes on at once, unless a single document has more.
    static let partBytes = 4 << 20

    /// Returns documents of other collections, for `$lookup`, `$graphLookup` and `$unionWith`.
    public typealias Source = @Sendable (_ collection: String, _ filter: Filter) async throws -> [Document]

    /// The time of `$$NOW`, in milliseconds since 1970.
    public var now: Int64
    /// Variables that stages may use.
    public var variables: [ExactText: Value]
    /// How strings are compared.
    public var collation: Collation?
    /// The most bytes that a stage may hold at once; if it needs more, the run fails with 292.
    public var memoryLimit: Int
    let source: Source

    /// Creates a context; without a source, stages see other collections as empty.
    public init(
        now: Int64 = 0, variables: [ExactText: Value] = [:], collation: Collation? = nil, memoryLimit: Int = 100 << 20,
        source: @escaping Source = { _, _ in [] }
    ) {
        self.now = now
        self.variables = variables
        self.collation = collation
        self.memoryLimit = memoryLimit
        self.source = source
    }

    func documents(of collection: String?, _ filter: Filter) async throws -> [Document] {
        guard let collection else { return [] }
        return try await source(collection, filter)
    }

    /// The context of expressions for a document.
    /// - Throws: the error of `Interruption`, so that a stage ends between two documents.
    func evaluation(_ document: Document) throws(QueryError) -> EvaluationContext {
        try QueryError.throwIfInterrupted()
        return EvaluationContext(root: document, variables: variables, now: now, collation: collation)
    }
}

/// A run of a pipeline: takes documents in batches and passes results on as they are ready, so that memory stays bounded.
public struct PipelineRun: Sendable {
    private var steps: [any PipelineStep] = []
    private let context: PipelineContext

    /// Begins a run.
    public init(_ pipeline: Pipeline, context: PipelineContext) {
        self.context = context
        for (index, stage) in pipeline.stages.enumerated() {
            steps.append(Self.step(for: stage, followedBy: pipeline.stages.dropFirst(index + 1), context.collation))
        }
    }

    /// Whether no further document can change the result, as after a `$limit` that is reached.
    public var isDone: Bool { steps.contains { $0.isDone } }

    /// Takes documents and passes on the results that are ready.
    public mutating func process(
        _ batch: [Document], _ give: ([Document]) async throws -> Void
    ) async throws {
        try await pass(batch, from: 0, give)
    }

    /// Takes documents and returns the results that are ready.
    /// - Throws: 292 if they have more bytes than the context allows.
    public mutating func process(_ batch: [Document]) async throws -> [Document] {
        var results = CollectedResults(context)
        try await pass(batch, from: 0) { try results.add($0) }
        return results.documents
    }

    /// Ends the input and passes on the remaining results.
    public mutating func finish(_ give: ([Document]) async throws -> Void) async throws {
        for index in steps.indices {
            let rest = try await steps[index].finish(context)
            try await pass(rest, from: index + 1, give)
        }
    }

    /// Ends the input and returns the remaining results.
    /// - Throws: 292, as `process(_:)`.
    public mutating func finish() async throws -> [Document] {
        var results = CollectedResults(context)
        try await finish { try results.add($0) }
        return results.documents
    }

    private mutating func pass(
        _ batch: [Document], from first: Int, _ give: ([Document]) async throws -> Void
    ) async throws {
        var batch = batch
        for index in first..<steps.count {
            if batch.isEmpty { return }
            try QueryError.throwIfInterrupted()
            if steps[index].enlarges { return try await passInParts(batch, at: index, give) }
            batch = try await processInSlices(batch, at: index)
        }
        if !batch.isEmpty { try await give(batch) }
    }

    /// Processes a batch in slices and yields the thread in between, since each document may take long.
    private mutating func processInSlices(_ batch: [Document], at index: Int) async throws -> [Document] {
        if batch.count <= Self.slice { return try await steps[index].process(batch, context) }
        var results: [Document] = []
        var turn = ThreadTurn()
        for start in stride(from: 0, to: batch.count, by: Self.slice) where !steps[index].isDone {
            results += try await steps[index].process(
                Array(batch[start..<min(start + Self.slice, batch.count)]), context)
            await turn.passOn()
        }
        return results
    }

    private static let slice = 16

    /// Passes documents one by one to a step that may produce large results from one document, and passes its results on in parts:
    /// however many such steps follow each other, each holds only one part.
    private mutating func passInParts(
        _ batch: [Document], at index: Int, _ give: ([Document]) async throws -> Void
    ) async throws {
        try await steps[index].prepare(batch, context)
        var part: [Document] = []
        var bytes = 0
        var turn = ThreadTurn()
        for document in batch {
            await turn.passOn()
            for made in try await steps[index].expand(document, context) {
                if steps[(index + 1)...].contains(where: \.isDone) { return }
                bytes += Value.document(made).approximateSize
                part.append(made)
                guard part.count == PipelineContext.batchSize || bytes >= PipelineContext.partBytes else { continue }
                try await pass(part, from: index + 1, give)
                part.removeAll(keepingCapacity: true)
                bytes = 0
                await turn.passOn()
            }
        }
        try await pass(part, from: index + 1, give)
    }

    private static func step(for stage: Stage, followedBy next: ArraySlice<Stage>, _ collation: Collation?)
        -> any PipelineStep
    {
        switch stage {
        case .match(let filter): MatchStep(filter: filter.collated(by: collation))
        case .project(let projection): ProjectStep(projection: projection)
        case .group(let group): GroupStep(group)
        case .sort(let sort): SortStep(sort.collated(by: collation), limit: limit(next))
        case .skip(let count): SkipStep(rest: count)
        case .limit(let count): LimitStep(rest: count)
        case .count(let field): CountStep(field: field)
        case .unwind(let unwind): UnwindStep(specification: unwind)
        case .lookup(let lookup): LookupStep(specification: lookup)
        case .graphLookup(let graph): GraphLookupStep(specification: graph)
        case .facet(let facets): FacetStep(facets)
        case .bucket(let bucket): BucketStep(bucket)
        case .bucketAuto(let bucket): BucketAutoStep(specification: bucket)
        case .replaceRoot(let expression): ReplaceRootStep(expression: expression)
        case .sample(let count): SampleStep(count: count)
        case .unionWith(let collection, let pipeline): UnionStep(collection: collection, pipeline: pipeline)
        case .redact(let expression): RedactStep(expression: expression)
        case .window(let window): WindowStep(specification: window)
        case .densify(let densify): DensifyStep(specification: densify)
        case .geoNear(let near): GeoNearStep(specification: near)
        case .documents(let expression): DocumentsStep(expression: expression)
        case .search(let name, _): UnsupportedStep(name: name)
        case .output: PassStep()
        }
    }

    /// The largest limit for which a sort keeps only the first documents; beyond it, a sort keeps everything and counts its memory.
    private static let mostKept = 100_000

    /// How many documents of a sort are needed if a small limit follows; `nil` otherwise.
    private static func limit(_ next: ArraySlice<Stage>) -> Int? {
        var skipped = 0
        for stage in next {
            switch stage {
            case .skip(let count): skipped = max(skipped, min(skipped, mostKept) + min(count, mostKept))
            case .limit(let count): return skipped + min(count, mostKept) < mostKept ? skipped + count : nil
            default: return nil
            }
        }
        return nil
    }
}

/// The run of one stage.
protocol PipelineStep: Sendable {
    /// Whether it needs no further documents.
    var isDone: Bool { get }
    /// Whether it may produce many documents, or a large one, from one document.
    var enlarges: Bool { get }
    /// Gets the documents with which `expand` will be called one after the other.
    mutating func prepare(_ batch: [Document], _ context: PipelineContext) async throws
    /// The results for one document, which may be created lazily.
    mutating func expand(_ document: Document, _ context: PipelineContext) async throws -> any Sequence<Document>
    mutating func process(_ batch: [Document], _ context: PipelineContext) async throws -> [Document]
    mutating func finish(_ context: PipelineContext) async throws -> [Document]
}

extension PipelineStep {
    var isDone: Bool { false }
    var enlarges: Bool { false }
    mutating func prepare(_ batch: [Document], _ context: PipelineContext) async throws {}
    mutating func expand(_ document: Document, _ context: PipelineContext) async throws -> any Sequence<Document> {
        try await process([document], context)
    }
    mutating func finish(_ context: PipelineContext) async throws -> [Document] { [] }
}

/// Results that are collected until all are ready.
struct CollectedResults {
    private(set) var documents: [Document] = []
    private var budget = MemoryBudget()
    private let context: PipelineContext

    init(_ context: PipelineContext) { self.context = context }

    /// - Throws: 292 if the context's memory limit is exceeded.
    mutating func add(_ part: [Document]) throws(QueryError) {
        for document in part { try budget.add(document, context) }
        documents += part
    }
}

/// Counts the bytes that a stage holds.
struct MemoryBudget: Sendable {
    private(set) var used = 0

    mutating func add(_ document: Document, _ context: PipelineContext) throws(QueryError) {
        try add(bytes: Value.document(document).approximateSize, context)
    }

    /// - Parameter bytes: negative for what is kept no longer.
    mutating func add(bytes: Int, _ context: PipelineContext) throws(QueryError) {
        used += bytes
        try require(0, context)
    }

    func hasRoom(for bytes: Int, _ context: PipelineContext) -> Bool { used + bytes <= context.memoryLimit }

    func require(_ bytes: Int, _ context: PipelineContext) throws(QueryError) {
        guard hasRoom(for: bytes, context) else {
            throw QueryError(
                code: 292,
                message: "Exceeded memory limit of \(context.memoryLimit) bytes, and spilling to disk is not supported")
        }
    }
}

extension Value {
    /// About how many bytes of memory a value takes.
    package var approximateSize: Int {
        switch self {
        case .string(let text), .symbol(let text): 24 + text.utf8.count
        case .document(let document):
            document.fields.reduce(48) { $0 + 16 + $1.key.utf8.count + $1.value.approximateSize }
        case .array(let elements): elements.reduce(48) { $0 + $1.approximateSize }
        case .binary(let binary): 48 + binary.bytes.count
        default: 24
        }
    }
}

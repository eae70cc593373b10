import DocumentModel

/// The accumulators of one group.
struct GroupState: Sendable {
    private var accumulators: [GroupAccumulator]

    init(_ fields: [(name: String, accumulator: AccumulatorSpecification)], _ context: EvaluationContext)
        throws(QueryError)
    {
        accumulators = []
        for field in fields { accumulators.append(try GroupAccumulator(field.accumulator, context)) }
    }

    /// - Returns: about how many bytes more the group keeps; fewer when negative.
    mutating func add(_ fields: [(name: String, accumulator: AccumulatorSpecification)], _ context: EvaluationContext)
        throws(QueryError) -> Int
    {
        var growth = 0
        for index in fields.indices {
            try QueryError.throwIfInterrupted(every: index)
            growth -= accumulators[index].bytes
            try accumulators[index].add(fields[index].accumulator, context)
            growth += accumulators[index].bytes
        }
        return growth
    }

    func write(_ fields: [(name: String, accumulator: AccumulatorSpecification)], to document: inout Document) {
        for index in fields.indices {
            // The names are unique, and none is `_id`.
            if let value = accumulators[index].result {
                document.fields.append(Document.Field(fields[index].name, value))
            }
        }
    }
}

struct GroupStep: PipelineStep {
    private let specification: GroupSpecification
    private var places: [Value: Int] = [:]
    private var groups: [(id: Value?, state: GroupState)] = []
    private var budget = MemoryBudget()

    init(_ specification: GroupSpecification) { self.specification = specification }

    mutating func process(_ batch: [Document], _ context: PipelineContext) throws -> [Document] {
        for document in batch {
            let evaluation = try context.evaluation(document)
            let id = try specification.id.evaluate(evaluation)
            // A missing value is grouped with null.
            let key = context.collation.key(of: id ?? .null)
            let place: Int
            if let known = places[key] {
                place = known
            } else {
                place = groups.count
                places[key] = place
                try budget.add(["_id": key], context)
                groups.append((id ?? .null, try GroupState(specification.fields, evaluation)))
            }
            try budget.add(bytes: groups[place].state.add(specification.fields, evaluation), context)
        }
        return []
    }

    mutating func finish(_ context: PipelineContext) -> [Document] {
        defer { groups = [] }
        return groups.map { group in
            var document: Document = ["_id": group.id ?? .null]
            group.state.write(specification.fields, to: &document)
            return document
        }
    }
}

struct BucketStep: PipelineStep {
    private let specification: BucketSpecification
    private var states: [Int: GroupState] = [:]
    private var budget = MemoryBudget()

    init(_ specification: BucketSpecification) { self.specification = specification }

    mutating func process(_ batch: [Document], _ context: PipelineContext) throws -> [Document] {
        let bounds = specification.boundaries
        for document in batch {
            let evaluation = try context.evaluation(document)
            let value = try specification.groupBy.evaluate(evaluation) ?? .null
            var place = bounds.count
            if evaluation.compare(value, bounds[0]) >= 0, evaluation.compare(value, bounds[bounds.count - 1]) < 0 {
                place = (bounds.firstIndex { evaluation.compare(value, $0) < 0 } ?? 1) - 1
            } else if specification.otherwise == nil {
                throw QueryError(
                    code: 40066,
                    message: "$switch could not find a matching branch for an input, and no default was specified.")
            }
            var state = try states.removeValue(forKey: place) ?? GroupState(specification.fields, evaluation)
            try budget.add(bytes: state.add(specification.fields, evaluation), context)
            states[place] = state
        }
        return []
    }

    mutating func finish(_ context: PipelineContext) -> [Document] {
        let bounds = specification.boundaries
        let results = states.map { place, state in
            var document: Document = ["_id": place < bounds.count ? bounds[place] : specification.otherwise ?? .null]
            state.write(specification.fields, to: &document)
            return document
        }
        return results.sorted { Value.compare($0.id ?? .null, $1.id ?? .null) < 0 }
    }
}

struct BucketAutoStep: PipelineStep {
    let specification: BucketAutoSpecification
    private var documents: [(value: Value, document: Document)] = []
    private var budget = MemoryBudget()

    init(specification: BucketAutoSpecification) { self.specification = specification }

    mutating func process(_ batch: [Document], _ context: PipelineContext) throws -> [Document] {
        for document in batch {
            try budget.add(document, context)
            let value = try specification.groupBy.evaluate(context.evaluation(document)) ?? .null
            if specification.granularity != nil { try Granularity.check(value) }
            documents.append((value, document))
        }
        return []
    }

    mutating func finish(_ context: PipelineContext) throws -> [Document] {
        let sorted = documents.sorted { context.collation.compare($0.value, $1.value) < 0 }
        documents = []
        let size = max(1, Int((Double(sorted.count) / Double(specification.buckets)).rounded()))
        var results: [Document] = []
        var start = 0
        var lower = sorted.first.map { entry in specification.granularity?.below(entry.value) ?? entry.value } ?? .null
        while start < sorted.count {
            var end = results.count == specification.buckets - 1 ? sorted.count : min(start + size, sorted.count)
            // Equal values go into the same bucket; with a granularity, all values up to the rounded bound do.
            let bound = specification.granularity?.above(sorted[end - 1].value)
            while end < sorted.count,
                bound.map({ Value.compare(sorted[end].value, $0) < 0 })
                    ?? (context.collation.compare(sorted[end].value, sorted[end - 1].value) == 0)
            { end += 1 }
            var state = try GroupState(specification.fields, context.evaluation(sorted[start].document))
            for entry in sorted[start..<end] {
                try budget.add(
                    bytes: state.add(specification.fields, context.evaluation(entry.document)), context)
            }
            let upper = bound ?? (end < sorted.count ? sorted[end].value : sorted[sorted.count - 1].value)
            var document: Document = ["_id": ["min": lower, "max": upper]]
            lower = upper
            state.write(specification.fields, to: &document)
            results.append(document)
            start = end
        }
        return results
    }
}

struct FacetStep: PipelineStep {
    private var runs: [(name: String, run: PipelineRun?, pipeline: Pipeline, results: [Value])]
    private var budget = MemoryBudget()

    init(_ facets: [(name: String, pipeline: Pipeline)]) { runs = facets.map { ($0.name, nil, $0.pipeline, []) } }

    mutating func process(_ batch: [Document], _ context: PipelineContext) async throws -> [Document] {
        for index in runs.indices {
            var run = runs[index].run ?? PipelineRun(runs[index].pipeline, context: context)
            runs[index].run = nil
            try keep(run.isDone ? [] : try await run.process(batch), at: index, context)
            runs[index].run = run
        }
        return []
    }

    private mutating func keep(_ documents: [Document], at index: Int, _ context: PipelineContext) throws(QueryError) {
        for document in documents {
            try budget.add(document, context)
            runs[index].results.append(.document(document))
        }
    }

    mutating func finish(_ context: PipelineContext) async throws -> [Document] {
        var result = Document()
        for index in runs.indices {
            var run = runs[index].run ?? PipelineRun(runs[index].pipeline, context: context)
            try keep(try await run.finish(), at: index, context)
            result[runs[index].name] = .array(runs[index].results)
        }
        return [result]
    }
}

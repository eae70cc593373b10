import DocumentModel

/// `$lookup`: one question to the other collection per batch, unless a pipeline with variables makes it one per document.
struct LookupStep: PipelineStep {
    let specification: LookupSpecification

    mutating func process(_ batch: [Document], _ context: PipelineContext) async throws -> [Document] {
        guard let fields = specification.fields else {
            var results: [Document] = []
            let isFixed = specification.variables.isEmpty
            var all: [Document]?
            for document in batch {
                let foreign = try await source(Filter.all, context, known: all)
                all = foreign
                results.append(try await joined(document, foreign, context))
                if isFixed, results.count == 1, case .array(let found)? = results[0].value(at: specification.output) {
                    for other in batch.dropFirst() {
                        var copy = other
                        copy.set(.array(found), at: specification.output)
                        results.append(copy)
                    }
                    return results
                }
            }
            return results
        }
        var wanted: [[Value]] = []
        for document in batch { wanted.append(Self.values(document, fields.local)) }
        let distinct = ValueSet(Array(wanted.joined()), context.collation).sorted
        let filter = try Filter(
            Document(fields: [Document.Field(fields.foreign.description, ["$in": .array(distinct)])]),
            collation: context.collation)
        let foreign = try await context.documents(of: specification.collection, filter)
        let index = try Self.index(foreign, by: fields.foreign, context.collation)
        var results: [Document] = []
        for (document, values) in zip(batch, wanted) {
            var places: Set<Int> = []
            for value in values { places.formUnion(index[context.collation.key(of: value)] ?? []) }
            results.append(try await joined(document, places.sorted().map { foreign[$0] }, context))
        }
        return results
    }

    private func source(_ filter: Filter, _ context: PipelineContext, known: [Document]?) async throws -> [Document] {
        if let known { return known }
        return try await context.documents(of: specification.collection, filter)
    }

    private func joined(_ document: Document, _ foreign: [Document], _ context: PipelineContext) async throws
        -> Document
    {
        var found = foreign
        if let pipeline = specification.pipeline {
            var inner = context
            let evaluation = try context.evaluation(document)
            for (name, value) in specification.variables { inner.variables[name] = try value.evaluate(evaluation) }
            found = try await pipeline.run(found, context: inner)
        }
        var copy = document
        copy.set(.array(found.map { .document($0) }), at: specification.output)
        try ComputedBounds.check(copy)
        return copy
    }

    /// The values that a document offers at a path: the elements of an array, null for what is missing.
    static func values(_ document: Document, _ path: Path) -> [Value] {
        switch ExpressionNode.value(at: path.components[...], of: .document(document)) {
        case .array(let elements)?: elements.isEmpty ? [] : elements
        case let value?: [value.isNull ? .null : value]
        case nil: [.null]
        }
    }

    /// Where each value stands; a document with an array stands under each of its elements and the array itself.
    static func index(_ documents: [Document], by path: Path, _ collation: Collation?) throws(QueryError)
        -> [Value: [Int]]
    {
        var index: [Value: [Int]] = [:]
        for (place, document) in documents.enumerated() {
            let visitor = PathVisitor { (value, _) in
                let key = collation.key(of: value.map { $0.isNull ? Value.null : $0 } ?? .null)
                if index[key]?.last != place { index[key, default: []].append(place) }
                return false
            }
            _ = try visitor.walk(document, path.components[...])
        }
        return index
    }
}

/// `$unionWith`.
struct UnionStep: PipelineStep {
    let collection: String?
    let pipeline: Pipeline

    mutating func process(_ batch: [Document], _ context: PipelineContext) -> [Document] { batch }

    mutating func finish(_ context: PipelineContext) async throws -> [Document] {
        try await pipeline.run(try await context.documents(of: collection, Filter.all), context: context)
    }
}

/// `$graphLookup`: breadth first, one question per step and document.
struct GraphLookupStep: PipelineStep {
    let specification: GraphLookupSpecification

    mutating func process(_ batch: [Document], _ context: PipelineContext) async throws -> [Document] {
        var results: [Document] = []
        for document in batch {
            var copy = document
            copy.set(.array(try await reach(from: document, context)), at: specification.output)
            results.append(copy)
        }
        return results
    }

    /// What a document leads on to; a field that is missing leads nowhere.
    private static func values(_ document: Document, _ path: Path) -> [Value] {
        switch ExpressionNode.value(at: path.components[...], of: .document(document)) {
        case .array(let elements)?: elements
        case let value?: [value]
        case nil: []
        }
    }

    private func reach(from document: Document, _ context: PipelineContext) async throws -> [Value] {
        var frontier: [Value]
        switch try specification.start.evaluate(context.evaluation(document)) {
        case .array(let elements)?: frontier = elements
        case let value?: frontier = [value]
        case nil: frontier = []
        }
        var asked = ValueSet(frontier, context.collation)
        var seen: Set<Value> = []
        var found: [Value] = []
        var budget = MemoryBudget()
        var depth: Int64 = 0
        while !frontier.isEmpty, specification.maximumDepth.map({ depth <= Int64($0) }) ?? true {
            let filter = try Filter(
                Document(fields: [Document.Field(specification.connectTo.description, ["$in": .array(frontier)])]),
                collation: context.collation)
            var next: [Value] = []
            for var other in try await context.source(specification.collection, filter) {
                if let restriction = specification.restriction,
                    try !restriction.collated(by: context.collation).evaluate(other, now: context.now)
                {
                    continue
                }
                guard seen.insert(other.id ?? .document(other)).inserted else { continue }
                try budget.add(other, context)
                next += Self.values(other, specification.connectFrom).filter { asked.insert($0) }
                if let field = specification.depthField { other.set(.int64(depth), at: field) }
                found.append(.document(other))
            }
            frontier = next
            depth += 1
        }
        return found
    }
}

import DocumentModel

/// `$lookup`: one query of the other collection per batch, for all documents that any document of the batch may be joined with.
struct LookupStep: PipelineStep {
    let specification: LookupSpecification
    private var batch = Batch()

    init(specification: LookupSpecification) { self.specification = specification }

    var enlarges: Bool { true }

    /// The documents of the other collection for a batch.
    private struct Batch {
        var foreign: [Document] = []
        /// The places in `foreign` by the values of a field; `nil` to join each document with all.
        var index: [Value: [Int]]?
        /// The keys in `index`, and the variables, of each document that isn't processed yet, the last document first.
        var keys: [[Value]] = []
        var variables: [[ExactText: Value]] = []
        /// The value that all documents are joined with if there are no variables.
        var same: Value?
    }

    mutating func prepare(_ documents: [Document], _ context: PipelineContext) async throws {
        var variables: [[ExactText: Value]] = []
        for document in documents { variables.append(try self.variables(of: document, context)) }
        let names = Set(context.variables.keys).union(specification.variables.map { ExactText($0.name) })
        let needed = ForeignFilter(specification.pipeline, variables: names)
        var keys: [(path: Path, values: [[Value]])] = []
        if let fields = specification.fields {
            keys.append((fields.foreign, documents.map { Self.values($0, fields.local) }))
        }
        for join in needed.joins {
            var values: [[Value]] = []
            for variables in variables {
                guard let wanted = try join.values(variables, context) else { break }
                values.append(wanted)
            }
            if values.count == documents.count { keys.append((join.path, values)) }
        }
        let conditions = keys.map { key -> Document in
            let distinct = ValueSet(Array(key.values.joined()), context.collation).sorted
            return Document(fields: [Document.Field(key.path.description, ["$in": .array(distinct)])])
        }
        batch = Batch()
        batch.foreign = try await context.documents(
            of: specification.collection, try needed.filter(conditions, collation: context.collation))
        batch.variables = variables.reversed()
        guard let key = keys.first else { return }
        batch.index = try Self.index(batch.foreign, by: key.path, context.collation)
        batch.keys = key.values.reversed().map { $0.map { context.collation.key(of: $0) } }
    }

    mutating func expand(_ document: Document, _ context: PipelineContext) async throws -> any Sequence<Document> {
        let variables = batch.variables.popLast() ?? [:]
        let keys = batch.keys.popLast() ?? []
        let found: Value
        if let same = batch.same {
            found = same
        } else {
            var foreign = batch.foreign
            if let index = batch.index {
                foreign = Set(keys.flatMap { index[$0] ?? [] }).sorted().map { batch.foreign[$0] }
            }
            if let pipeline = specification.pipeline {
                var inner = context
                inner.variables = variables
                foreign = try await pipeline.run(foreign, context: inner)
            }
            found = .array(foreign.map { .document($0) })
            if batch.index == nil, specification.variables.isEmpty { batch.same = found }
        }
        var copy = document
        copy.set(found, at: specification.output)
        try ComputedBounds.check(copy)
        return [copy]
    }

    mutating func process(_ documents: [Document], _ context: PipelineContext) async throws -> [Document] {
        try await prepare(documents, context)
        var results: [Document] = []
        for document in documents { results += try await expand(document, context) }
        return results
    }

    private func variables(of document: Document, _ context: PipelineContext) throws(QueryError) -> [ExactText: Value] {
        var variables = context.variables
        if specification.variables.isEmpty { return variables }
        let evaluation = try context.evaluation(document)
        for (name, value) in specification.variables { variables[name] = try value.evaluate(evaluation) }
        return variables
    }

    /// The values of a document at a path: the elements of an array, null for a missing value.
    static func values(_ document: Document, _ path: Path) -> [Value] {
        switch ExpressionNode.value(at: path.components[...], of: .document(document)) {
        case .array(let elements)?: elements.isEmpty ? [] : elements
        case let value?: [value.isNull ? .null : value]
        case nil: [.null]
        }
    }

    /// The places of the documents by value; a document with an array is listed under each element and under the array itself.
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
        let needed = try ForeignFilter(pipeline, variables: []).filter(collation: context.collation)
        return try await pipeline.run(try await context.documents(of: collection, needed), context: context)
    }
}

/// `$graphLookup`: a breadth-first search, with one query per step and document.
struct GraphLookupStep: PipelineStep {
    let specification: GraphLookupSpecification
    var enlarges: Bool { true }

    mutating func process(_ batch: [Document], _ context: PipelineContext) async throws -> [Document] {
        var results: [Document] = []
        for document in batch {
            var copy = document
            copy.set(.array(try await reach(from: document, context)), at: specification.output)
            results.append(copy)
        }
        return results
    }

    /// The values that the search continues with after a document; a missing field has none.
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

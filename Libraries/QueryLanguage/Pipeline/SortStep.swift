import DocumentModel

/// Sorts all documents, or keeps only as many as a following limit needs.
struct SortStep: PipelineStep {
    private let sort: Sort
    private let limit: Int?
    private var entries: [(keys: [Value], document: Document, bytes: Int)] = []
    private var budget = MemoryBudget()

    init(_ sort: Sort, limit: Int?) {
        self.sort = sort
        self.limit = limit
    }

    mutating func process(_ batch: [Document], _ context: PipelineContext) throws -> [Document] {
        for document in batch {
            let bytes = Value.document(document).approximateSize
            if let limit, entries.count > limit, !budget.hasRoom(for: bytes, context) {
                try cut(to: limit, context)
                // With less room, each of the following documents would have all sorted.
                try budget.require(bytes + context.memoryLimit / 4, context)
            }
            entries.append((sort.sortKeys(.document(document)), document, bytes))
            try budget.add(bytes: bytes, context)
        }
        // Cut only occasionally, so that each document is sorted only a few times.
        if let limit, entries.count > max(2 * limit, limit + 1024) { try cut(to: limit, context) }
        return []
    }

    private mutating func cut(to limit: Int, _ context: PipelineContext) throws(QueryError) {
        entries.sort { sort.compare($0.keys, $1.keys) < 0 }
        while entries.count > limit, let last = entries.popLast() { try budget.add(bytes: -last.bytes, context) }
    }

    mutating func finish(_ context: PipelineContext) throws -> [Document] {
        defer { entries = [] }
        try cut(to: limit ?? Int.max, context)
        return entries.map(\.document)
    }
}

/// `$geoNear`: matches, measures and sorts.
struct GeoNearStep: PipelineStep {
    let specification: GeoNearSpecification
    private var found: [(distance: Double, document: Document)] = []
    private var budget = MemoryBudget()

    init(specification: GeoNearSpecification) { self.specification = specification }

    mutating func process(_ batch: [Document], _ context: PipelineContext) throws -> [Document] {
        for document in batch
        where try specification.filter.evaluate(document, variables: context.variables, now: context.now) {
            guard let distance = specification.filter.distance(of: document) else { continue }
            var copy = document
            copy.set(.double(distance * specification.multiplier), at: specification.distanceField)
            if let field = specification.locationField, let path = specification.filter.nearness?.path,
                let place = document.value(at: path)
            {
                copy.set(place, at: field)
            }
            try budget.add(copy, context)
            found.append((distance, copy))
        }
        return []
    }

    mutating func finish(_ context: PipelineContext) -> [Document] {
        found.sorted { $0.distance < $1.distance }.map(\.document)
    }
}

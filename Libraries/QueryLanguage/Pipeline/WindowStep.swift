import DocumentModel

/// `$setWindowFields`.
struct WindowStep: PipelineStep {
    let specification: WindowSpecification
    private var documents: [Document] = []
    private var budget = MemoryBudget()

    init(specification: WindowSpecification) { self.specification = specification }

    mutating func process(_ batch: [Document], _ context: PipelineContext) throws -> [Document] {
        for document in batch {
            try budget.add(document, context)
            documents.append(document)
        }
        return []
    }

    mutating func finish(_ context: PipelineContext) throws -> [Document] {
        var partitions: [(key: Value, documents: [Document])] = []
        var places: [Value: Int] = [:]
        for document in documents {
            let key = try specification.partition?.evaluate(context.evaluation(document)) ?? .null
            if case .array = key {
                throw QueryError(
                    code: 14, message: "An expression used to partition cannot evaluate to value of type array")
            }
            let collated = context.collation.key(of: key)
            if let place = places[collated] {
                partitions[place].documents.append(document)
            } else {
                places[collated] = partitions.count
                partitions.append((key, [document]))
            }
        }
        documents = []
        var results: [Document] = []
        for partition in partitions.sorted(by: { context.collation.compare($0.key, $1.key) < 0 }) {
            var members = partition.documents
            let sort = specification.sort?.collated(by: context.collation)
            sort?.sort(&members)
            results += try compute(members, sort, context)
        }
        return results
    }

    private mutating func compute(_ members: [Document], _ sort: Sort?, _ context: PipelineContext) throws(QueryError)
        -> [Document]
    {
        var contexts: [EvaluationContext] = []
        for member in members { contexts.append(try context.evaluation(member)) }
        let keys = members.map { sort?.sortKeys(.document($0)) ?? [] }
        var results = members
        for output in specification.outputs {
            let values = try self.values(output, contexts, keys, sort, context)
            for index in results.indices { if let value = values[index] { results[index].set(value, at: output.path) } }
        }
        return results
    }

    private mutating func values(
        _ output: WindowSpecification.Output, _ contexts: [EvaluationContext], _ keys: [[Value]], _ sort: Sort?,
        _ context: PipelineContext
    ) throws(QueryError) -> [Value?] {
        switch output.function {
        case .documentNumber: return contexts.indices.map { .integer($0 + 1) }
        case .rank, .denseRank:
            var rank = 0, dense = 0
            return contexts.indices.map { index in
                if index == 0 || sort?.compare(keys[index - 1], keys[index]) != 0 {
                    rank = index + 1
                    dense += 1
                }
                if case .rank = output.function { return .integer(rank) }
                return .integer(dense)
            }
        case .shift(let expression, let distance, let otherwise):
            var values: [Value?] = []
            for index in contexts.indices {
                let place = index + distance
                let value =
                    contexts.indices.contains(place) ? try expression.evaluate(contexts[place]) ?? .null : otherwise
                try budget.add(bytes: value.approximateSize, context)
                values.append(value)
            }
            return values
        case .lastObserved(let expression):
            var last = Value.null
            var values: [Value?] = []
            for context in contexts {
                if let value = try expression.evaluate(context), !value.isNull { last = value }
                values.append(last)
            }
            return values
        case .accumulator(let accumulator):
            return try eachWindow(output.window, contexts, keys, context, running: accumulator) {
                (contexts, _) throws(QueryError) in try Self.total(accumulator, contexts)
            }
        case .linearFill(let expression): return try WindowMathematics.linearFill(expression, contexts, keys)
        case .movingAverage(let expression, let weight):
            return try WindowMathematics.movingAverage(expression, weight, contexts)
        case .derivative(let expression, let unit):
            return try eachWindow(output.window, contexts, keys, context) { (contexts, keys) throws(QueryError) in
                try WindowMathematics.derivative(expression, unit, contexts, keys)
            }
        case .integral(let expression, let unit):
            return try eachWindow(output.window, contexts, keys, context) { (contexts, keys) throws(QueryError) in
                try WindowMathematics.integral(expression, unit, contexts, keys)
            }
        case .covariance(let a, let b, let isSample):
            return try eachWindow(output.window, contexts, keys, context) { (contexts, _) throws(QueryError) in
                try WindowMathematics.covariance(a, b, isSample: isSample, contexts)
            }
        }
    }

    /// The values of the windows of all documents.
    /// - Parameter running: the accumulator that can continue from one window to the next if only the end moves.
    private mutating func eachWindow(
        _ window: WindowSpecification.Window, _ contexts: [EvaluationContext], _ keys: [[Value]],
        _ context: PipelineContext,
        running specification: AccumulatorSpecification? = nil,
        _ value: (ArraySlice<EvaluationContext>, ArraySlice<[Value]>) throws(QueryError) -> Value?
    ) throws(QueryError) -> [Value?] {
        var values: [Value?] = []
        /// Each value of its own is kept until all are there.
        func keep(_ value: Value?) throws(QueryError) {
            try budget.add(bytes: value?.approximateSize ?? 0, context)
            values.append(value)
        }
        var whole: Value??
        var running: GroupAccumulator?
        for index in contexts.indices {
            try QueryError.throwIfInterrupted()
            switch window {
            case .documents(nil, nil):
                // The window is the same for all documents.
                if let whole { values.append(whole); continue }
                let value = try value(contexts[...], keys[...])
                whole = .some(value)
                try keep(value)
            case .documents(nil, 0) where specification != nil:
                guard let specification else { continue }
                var accumulator: GroupAccumulator
                if let present = running {
                    accumulator = present
                } else {
                    accumulator = try GroupAccumulator(specification, contexts[index])
                }
                running = nil
                try accumulator.add(specification, contexts[index])
                try keep(accumulator.result)
                running = accumulator
            case .documents(let lower, let upper):
                let first = lower.map { max(0, index + $0) } ?? 0
                let last = upper.map { min(contexts.count - 1, index + $0) } ?? contexts.count - 1
                let places = first <= last ? first..<last + 1 : 0..<0
                try keep(try value(contexts[places], keys[places]))
            case .range:
                let members = try rangeMembers(window, at: index, keys)
                try keep(try value(contexts[members], keys[members]))
            }
        }
        return values
    }

    private static func total(_ specification: AccumulatorSpecification, _ contexts: ArraySlice<EvaluationContext>)
        throws(QueryError) -> Value?
    {
        guard let first = contexts.first else {
            switch specification.name {
            case "$push", "$addToSet", "$firstN", "$lastN", "$minN", "$maxN", "$topN", "$bottomN": return .array([])
            case "$sum", "$count": return .int32(0)
            default: return specification.percentiles?.result([]) ?? .null
            }
        }
        var accumulator = try GroupAccumulator(specification, first)
        for context in contexts { try accumulator.add(specification, context) }
        return accumulator.result
    }

    private func rangeMembers(_ window: WindowSpecification.Window, at index: Int, _ keys: [[Value]]) throws(QueryError)
        -> Range<Int>
    {
        guard case .range(let lower, let upper, let isCurrentLower, let isCurrentUpper, let unit) = window,
            let own = keys[index].first
        else { return 0..<0 }
        try Self.checkRange(over: own, unit: unit)
        func bound(_ offset: Value?, _ isCurrent: Bool) throws(QueryError) -> Value? {
            if isCurrent { return own }
            guard let offset else { return nil }
            if case .date(let moment) = own {
                guard let unit, let amount = offset.int64Value else {
                    throw .failedToParse("Range-based bounds with a unit must be integers")
                }
                return .date(try DateUnit(.string(unit), "$setWindowFields").adding(amount, to: moment, in: .utc))
            }
            return try Arithmetic.add(own, offset)
        }
        let from = try bound(lower, isCurrentLower), to = try bound(upper, isCurrentUpper)
        // The keys ascend, so the members of the window are adjacent, among those of the same type.
        let first = Self.place(in: keys) { key in
            key.typeRank > own.typeRank
                || key.typeRank == own.typeRank && from.map { Value.compare(key, $0) >= 0 } ?? true
        }
        let last = Self.place(in: keys) { key in
            key.typeRank > own.typeRank
                || key.typeRank == own.typeRank && to.map { Value.compare(key, $0) > 0 } ?? false
        }
        return first..<max(first, last)
    }

    private static func checkRange(over key: Value, unit: String?) throws(QueryError) {
        switch (key, unit) {
        case (.date, .some): return
        case (_, .some):
            throw QueryError(
                code: 5_429_513,
                message: "Invalid range: Expected the sortBy field to be a Date, but it was \(key.typeName)")
        case (.date, nil):
            throw QueryError(
                code: 5_429_413,
                message: "Invalid range: For windows that involve date or time ranges, a unit must be provided.")
        case (_, nil):
            guard !key.isNumber else { return }
            throw QueryError(
                code: 5_429_414,
                message: "Invalid range: Expected the sortBy field to be a number, but it was \(key.typeName)")
        }
    }

    /// The first place whose key has a property, if all keys after it have the property too.
    private static func place(in keys: [[Value]], where isReached: (Value) -> Bool) -> Int {
        var low = 0, high = keys.count
        while low < high {
            let middle = (low + high) / 2
            if isReached(keys[middle].first ?? .null) { high = middle } else { low = middle + 1 }
        }
        return low
    }
}

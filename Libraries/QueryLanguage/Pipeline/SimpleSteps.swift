import DocumentModel

/// `$match`: passes on the documents that match.
struct MatchStep: PipelineStep {
    let filter: Filter

    mutating func process(_ batch: [Document], _ context: PipelineContext) throws -> [Document] {
        var kept: [Document] = []
        for document in batch {
            try QueryError.throwIfInterrupted()
            if try filter.evaluate(document, variables: context.variables, now: context.now) { kept.append(document) }
        }
        return kept
    }
}

struct ProjectStep: PipelineStep {
    let projection: Projection
    var enlarges: Bool { projection.mode != .exclusion }

    mutating func process(_ batch: [Document], _ context: PipelineContext) throws -> [Document] {
        try batch.map { document in
            let result = try projection.apply(to: document, context: context.evaluation(document))
            if projection.mode != .exclusion { try ComputedBounds.check(result) }
            return result
        }
    }
}

struct SkipStep: PipelineStep {
    var rest: Int

    mutating func process(_ batch: [Document], _ context: PipelineContext) -> [Document] {
        let skipped = min(rest, batch.count)
        rest -= skipped
        return Array(batch.dropFirst(skipped))
    }
}

struct LimitStep: PipelineStep {
    var rest: Int
    var isDone: Bool { rest == 0 }

    mutating func process(_ batch: [Document], _ context: PipelineContext) -> [Document] {
        let taken = Array(batch.prefix(rest))
        rest -= taken.count
        return taken
    }
}

struct CountStep: PipelineStep {
    let field: String
    private var count: Int64 = 0

    init(field: String) { self.field = field }

    mutating func process(_ batch: [Document], _ context: PipelineContext) -> [Document] {
        count += Int64(batch.count)
        return []
    }

    mutating func finish(_ context: PipelineContext) -> [Document] { count == 0 ? [] : [[field: .integer(count)]] }
}

struct ReplaceRootStep: PipelineStep {
    let expression: Expression
    var enlarges: Bool { true }

    mutating func process(_ batch: [Document], _ context: PipelineContext) throws -> [Document] {
        try batch.map { document in
            let value = try expression.evaluate(context.evaluation(document))
            guard case .document(let root)? = value else {
                throw QueryError(
                    code: 40228,
                    message:
                        "'newRoot' expression must evaluate to an object, but resulting value was of type: \(value.typeName)"
                )
            }
            return root
        }
    }
}

struct UnwindStep: PipelineStep {
    let specification: UnwindSpecification
    var enlarges: Bool { true }

    mutating func process(_ batch: [Document], _ context: PipelineContext) -> [Document] {
        batch.flatMap { Array(unwind($0)) }
    }

    mutating func expand(_ document: Document, _ context: PipelineContext) -> any Sequence<Document> {
        unwind(document)
    }

    /// The value at a path that leads only through documents: `$unwind` doesn't support indexes.
    private static func value(at path: ArraySlice<Path.Component>, of document: Document) -> Value? {
        guard let first = path.first, let value = document[first.name] else { return nil }
        let rest = path.dropFirst()
        return rest.isEmpty ? value : value.documentValue.flatMap { Self.value(at: rest, of: $0) }
    }

    private func unwind(_ document: Document) -> AnySequence<Document> {
        let value = Self.value(at: specification.path.components[...], of: document)
        guard case .array(let elements)? = value, !elements.isEmpty else { return AnySequence(unwindSingle(document)) }
        return AnySequence(
            elements.enumerated().lazy.map { [specification] index, element in
                var copy = document
                copy.set(element, at: specification.path)
                if let field = specification.indexField { copy.set(.int64(Int64(index)), at: field) }
                return copy
            })
    }

    private func unwindSingle(_ document: Document) -> [Document] {
        switch Self.value(at: specification.path.components[...], of: document) {
        case nil, .null?, .undefined?, .array?:
            guard specification.keepsEmpty else { return [] }
            var copy = document
            if case .array? = Self.value(at: specification.path.components[...], of: document) {
                copy.remove(at: specification.path)
            }
            if let field = specification.indexField { copy.set(.null, at: field) }
            return [copy]
        default:
            var copy = document
            if let field = specification.indexField { copy.set(.null, at: field) }
            return [copy]
        }
    }
}

struct SampleStep: PipelineStep {
    let count: Int
    private var kept: [Document] = []
    private var seen = 0
    private var budget = MemoryBudget()

    init(count: Int) { self.count = count }

    /// Algorithm R (reservoir sampling): each document is kept with the same probability.
    mutating func process(_ batch: [Document], _ context: PipelineContext) throws -> [Document] {
        for document in batch {
            seen += 1
            if kept.count < count {
                try budget.add(document, context)
                kept.append(document)
            } else {
                let place = Int.random(in: 0..<seen)
                if place < count { kept[place] = document }
            }
        }
        return []
    }

    mutating func finish(_ context: PipelineContext) -> [Document] { kept.shuffled() }
}

struct RedactStep: PipelineStep {
    let expression: Expression

    mutating func process(_ batch: [Document], _ context: PipelineContext) throws -> [Document] {
        var results: [Document] = []
        for document in batch {
            if let kept = try redact(document, context.evaluation(document)) { results.append(kept) }
        }
        return results
    }

    private func redact(_ document: Document, _ context: EvaluationContext) throws(QueryError) -> Document? {
        var inner = context
        inner.current = .document(document)
        switch try expression.evaluate(inner) {
        case .string("KEEP")?: return document
        case .string("PRUNE")?: return nil
        case .string("DESCEND")?:
            var result = Document()
            for field in document.fields {
                if let value = try redact(field.value, context) {
                    result.fields.append(Document.Field(field.key, value))
                }
            }
            return result
        default:
            throw QueryError(
                code: 17053,
                message:
                    "$redact's expression should not return anything aside from the variables $$KEEP, $$DESCEND, and $$PRUNE"
            )
        }
    }

    private func redact(_ value: Value, _ context: EvaluationContext) throws(QueryError) -> Value? {
        switch value {
        case .document(let document): return try redact(document, context).map { .document($0) }
        case .array(let elements):
            var kept: [Value] = []
            for element in elements { if let element = try redact(element, context) { kept.append(element) } }
            return .array(kept)
        default: return value
        }
    }
}

struct DocumentsStep: PipelineStep {
    let expression: Expression

    mutating func process(_ batch: [Document], _ context: PipelineContext) -> [Document] { [] }

    mutating func finish(_ context: PipelineContext) throws -> [Document] {
        guard case .array(let elements)? = try expression.evaluate(context.evaluation(Document())) else {
            throw QueryError(code: 5_858_203, message: "an array is expected")
        }
        return try elements.map { element in
            guard case .document(let document) = element else {
                throw QueryError(code: 40228, message: "$documents must hold objects")
            }
            return document
        }
    }
}

/// A stage that the store has to run before the rest of the pipeline.
struct UnsupportedStep: PipelineStep {
    let name: String

    mutating func process(_ batch: [Document], _ context: PipelineContext) throws -> [Document] {
        throw QueryError.notSupported("\(name) here")
    }
    mutating func finish(_ context: PipelineContext) throws -> [Document] {
        throw QueryError.notSupported("\(name) here")
    }
}

/// `$out` and `$merge`: passes the results through to the caller, which writes them.
struct PassStep: PipelineStep {
    mutating func process(_ batch: [Document], _ context: PipelineContext) -> [Document] { batch }
}

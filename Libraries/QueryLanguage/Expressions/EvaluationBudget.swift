import DocumentModel

/// Bounds the work of one expression on one document, which loops could otherwise multiply without limit.
///
/// The outermost loop (`$map`, `$filter`, `$reduce`) creates a budget, and everything that it evaluates shares it. Expressions
/// without loops need none unless they are large, since each of their operators runs once.
///
/// `@unchecked Sendable`: a context with a budget never leaves the evaluation that made it, which runs on one thread.
final class EvaluationBudget: @unchecked Sendable {
    /// About two seconds of work.
    static let maximumSteps = 10_000_000

    private var steps = 0
    private var stepsBeforeLook = 0

    /// - Throws: 146 if the bound is exceeded, and the error of `Interruption`.
    func spend(_ count: Int) throws(QueryError) {
        steps += count
        guard steps <= Self.maximumSteps else {
            throw QueryError(
                code: 146, message: "the expression takes more than \(Self.maximumSteps) steps for one document")
        }
        stepsBeforeLook += count
        // A step may process the whole of a large value, so even a few steps may take long.
        guard stepsBeforeLook >= 100 else { return }
        stepsBeforeLook = 0
        try QueryError.throwIfInterrupted()
    }

    /// Spends the cost of having read or created these values.
    func spend(on values: [Value?], _ result: Value?, factor: Int) throws(QueryError) {
        var count = factor + (result?.shallowCost ?? 0)
        for value in values { if let value { count += value.shallowCost } }
        try spend(count)
    }
}

extension Value {
    /// The number of elements, fields or words of text that an operator processes.
    fileprivate var shallowCost: Int {
        switch self {
        case .array(let elements): elements.count
        case .document(let document): document.count
        case .string(let text): text.utf8.count >> 5
        default: 0
        }
    }
}

import DocumentModel

/// Bounds the work of one expression on one document, where loops could multiply it without end.
///
/// The outermost loop (`$map`, `$filter`, `$reduce`) makes one, and what it evaluates shares it; expressions without loops need none unless they
/// are large, as each of their operators does its work once.
///
/// `@unchecked Sendable`: a context with a budget never leaves the evaluation that made it, which runs on one thread.
final class EvaluationBudget: @unchecked Sendable {
    /// About two seconds of work.
    static let maximumSteps = 10_000_000

    private var steps = 0
    private var stepsBeforeLook = 0

    /// - Throws: 146 beyond the bound; what `Interruption` gives.
    func spend(_ count: Int) throws(QueryError) {
        steps += count
        guard steps <= Self.maximumSteps else {
            throw QueryError(
                code: 146, message: "the expression takes more than \(Self.maximumSteps) steps for one document")
        }
        stepsBeforeLook += count
        // A step may go through all of a large value, so that few of them already take time.
        guard stepsBeforeLook >= 100 else { return }
        stepsBeforeLook = 0
        try QueryError.throwIfInterrupted()
    }

    /// What it costs to have made or read these values.
    func spend(on values: [Value?], _ result: Value?, factor: Int) throws(QueryError) {
        var count = factor + (result?.shallowCost ?? 0)
        for value in values { if let value { count += value.shallowCost } }
        try spend(count)
    }
}

extension Value {
    /// The elements, fields or words of text that an operator goes through.
    fileprivate var shallowCost: Int {
        switch self {
        case .array(let elements): elements.count
        case .document(let document): document.count
        case .string(let text): text.utf8.count >> 5
        default: 0
        }
    }
}

public import DocumentModel

extension RuleExpression {
    /// The expansions that it may use, in the order in which they occur.
    var expansions: [RuleExpansion] { node.expansions }

    /// The values of the expansions that the expression may use, in the order in which they occur; `nil` for one that is missing. The
    /// values that the app doesn't need to tell apart, `%%true` and `%%false`, aren't among them.
    public func values(in context: RuleContext) -> [(expansion: String, value: Value?)] {
        var seen: Set<RuleExpansion> = []
        return node.expansions.filter { ![.true, .false].contains($0.root) && seen.insert($0).inserted }.map {
            ($0.text, context.value(of: $0))
        }
    }
}

extension RuleNode {
    fileprivate var expansions: [RuleExpansion] {
        switch self {
        case .constant: []
        case .all(let nodes), .any(let nodes): nodes.flatMap(\.expansions)
        case .not(let node), .embedded(_, let node): node.expansions
        case .test(let subject, let test): subject.expansions + test.expansions
        }
    }
}

extension RuleOperand {
    fileprivate var expansions: [RuleExpansion] {
        switch self {
        case .literal: []
        case .expansion(let expansion): [expansion]
        case .array(let items): items.flatMap(\.expansions)
        case .document(let fields): fields.flatMap(\.value.expansions)
        case .function(_, let arguments): arguments.flatMap(\.expansions)
        case .convert(_, let operand): operand.expansions
        }
    }
}

extension RuleTest {
    fileprivate var expansions: [RuleExpansion] {
        switch self {
        case .equals(let operand), .differs(let operand), .ordered(_, let operand), .contained(let operand),
            .notContained(let operand), .exists(let operand):
            operand.expansions
        case .all(let tests), .any(let tests): tests.flatMap(\.expansions)
        case .not(let test): test.expansions
        }
    }
}

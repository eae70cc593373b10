public import DocumentModel

/// A parsed rule expression: a boolean, or an object whose fields must all hold.
///
/// A field's name is a value, an expansion (`%%user.id`) or an operator (`%or`); a bare name means `%%root.<name>`. Its value is
/// a literal, an expansion, an object of operators, or an embedded expression.
public struct RuleExpression: Sendable {
    /// The expression as it was written.
    public let source: Value
    let node: RuleNode

    init(source: Value, node: RuleNode) {
        self.source = source
        self.node = node
    }

    /// Parses an expression.
    ///
    /// - Throws: `RuleSyntaxError` with all mistakes in it.
    public init(_ source: Value) throws(RuleSyntaxError) {
        var parser = RuleParser()
        let node = parser.expression(source, at: "")
        guard parser.issues.isEmpty else { throw RuleSyntaxError(issues: parser.issues) }
        self.init(source: source, node: node)
    }

    /// Never holds; used in place of a rule that can't be parsed.
    public static let never = RuleExpression(source: .bool(false), node: .constant(false))
    /// Always holds.
    public static let always = RuleExpression(source: .bool(true), node: .constant(true))

    /// The names of the functions that it may call, in no particular order.
    public var functionNames: Set<ExactText> { node.functionNames }

    /// Whether it uses the state before a write (`%%prevRoot`, `%%prev`).
    var looksAtPast: Bool { !node.expansionRoots.isDisjoint(with: [.prevRoot, .prev]) }
}

/// What is wrong with a rule expression.
public struct RuleSyntaxError: Error, Sendable, CustomStringConvertible {
    /// One mistake.
    public struct Issue: Hashable, Sendable {
        public var code: DefinitionProblem.Code
        /// JSON pointer inside the expression.
        public var pointer: String
        public var message: String
    }

    public let issues: [Issue]

    public var description: String {
        issues.map { "\($0.pointer.isEmpty ? "/" : $0.pointer): \($0.message)" }.joined(separator: "; ")
    }
}

/// The syntax tree of an expression.
indirect enum RuleNode: Sendable {
    case constant(Bool)
    case all([RuleNode])
    case any([RuleNode])
    case not(RuleNode)
    case test(RuleOperand, RuleTest)
    /// A field whose value is an embedded expression. It holds if the expression's result is `expected`, which is false for the
    /// field `%%false`.
    case embedded(expected: Bool, RuleNode)
}

/// An operand, which has a value in a context.
indirect enum RuleOperand: Sendable {
    case literal(Value)
    case expansion(RuleExpansion)
    case array([RuleOperand])
    case document([(key: String, value: RuleOperand)])
    case function(name: String, arguments: [RuleOperand])
    case convert(RuleConversion, RuleOperand)
}

/// A condition on a field's value.
indirect enum RuleTest: Sendable {
    case equals(RuleOperand)
    case differs(RuleOperand)
    case ordered(RuleOrder, RuleOperand)
    case contained(in: RuleOperand)
    case notContained(in: RuleOperand)
    case exists(RuleOperand)
    case all([RuleTest])
    case any([RuleTest])
    case not(RuleTest)
}

enum RuleOrder: Sendable { case less, lessOrEqual, greater, greaterOrEqual }

enum RuleConversion: String, Sendable { case stringToOid, oidToString, stringToUuid, uuidToString }

/// An expansion, `%%root.path`.
struct RuleExpansion: Hashable, Sendable {
    enum Root: String, Sendable {
        case `true`, `false`, values, environment, request, user, root, prevRoot, this, prev, args, partition

        /// Those of a document that a rule is about.
        static let ofDocuments: Set<Root> = [.root, .prevRoot, .this, .prev]
    }

    var root: Root
    var path: [String]

    init(_ root: Root, _ path: [String] = []) {
        self.root = root
        self.path = path
    }

    /// As it is written in a rule.
    var text: String { "%%" + ([root.rawValue] + path).joined(separator: ".") }

    /// - Parameter text: with the two percent signs; `nil` for a root that doesn't exist.
    init?(_ text: String) {
        let parts = text.dropFirst(2).splitAtBytes(".")
        guard let first = parts.first, let root = Root(rawValue: first) else { return nil }
        self.init(root, Array(parts.dropFirst()))
    }
}

extension RuleNode {
    var functionNames: Set<ExactText> {
        switch self {
        case .constant: []
        case .all(let nodes), .any(let nodes): nodes.reduce(into: []) { $0.formUnion($1.functionNames) }
        case .not(let node), .embedded(_, let node): node.functionNames
        case .test(let subject, let test): subject.functionNames.union(test.functionNames)
        }
    }
}

extension RuleOperand {
    var functionNames: Set<ExactText> {
        switch self {
        case .literal, .expansion: []
        case .array(let items): items.reduce(into: []) { $0.formUnion($1.functionNames) }
        case .document(let fields): fields.reduce(into: []) { $0.formUnion($1.value.functionNames) }
        case .function(let name, let arguments):
            arguments.reduce(into: [ExactText(name)]) { $0.formUnion($1.functionNames) }
        case .convert(_, let operand): operand.functionNames
        }
    }
}

extension RuleTest {
    var functionNames: Set<ExactText> {
        switch self {
        case .equals(let operand), .differs(let operand), .ordered(_, let operand), .contained(let operand),
            .notContained(let operand), .exists(let operand):
            operand.functionNames
        case .all(let tests), .any(let tests): tests.reduce(into: []) { $0.formUnion($1.functionNames) }
        case .not(let test): test.functionNames
        }
    }
}

extension RuleNode {
    /// The expansions that it may use.
    var expansionRoots: Set<RuleExpansion.Root> {
        switch self {
        case .constant: []
        case .all(let nodes), .any(let nodes): nodes.reduce(into: []) { $0.formUnion($1.expansionRoots) }
        case .not(let node), .embedded(_, let node): node.expansionRoots
        case .test(let subject, let test): subject.expansionRoots.union(test.expansionRoots)
        }
    }
}

extension RuleOperand {
    fileprivate var expansionRoots: Set<RuleExpansion.Root> {
        switch self {
        case .literal: []
        case .expansion(let expansion): [expansion.root]
        case .array(let items): items.reduce(into: []) { $0.formUnion($1.expansionRoots) }
        case .document(let fields): fields.reduce(into: []) { $0.formUnion($1.value.expansionRoots) }
        case .function(_, let arguments): arguments.reduce(into: []) { $0.formUnion($1.expansionRoots) }
        case .convert(_, let operand): operand.expansionRoots
        }
    }
}

extension RuleTest {
    fileprivate var expansionRoots: Set<RuleExpansion.Root> {
        switch self {
        case .equals(let operand), .differs(let operand), .ordered(_, let operand), .contained(let operand),
            .notContained(let operand), .exists(let operand):
            operand.expansionRoots
        case .all(let tests), .any(let tests): tests.reduce(into: []) { $0.formUnion($1.expansionRoots) }
        case .not(let test): test.expansionRoots
        }
    }
}

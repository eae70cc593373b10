import DocumentModel

/// The input of an expression: the document, the variables and the current time.
public struct EvaluationContext: Sendable {
    /// `$$ROOT`.
    public let root: Value
    /// `$$CURRENT`, at which field paths start.
    var current: Value?
    /// Variables of `$let`, `$map` and similar operators, and those that were passed to a pipeline.
    public var variables: [ExactText: Value] = [:]
    /// `$$NOW`, in milliseconds since 1970.
    public let now: Int64
    let collation: Collation?
    /// The remaining work of the enclosing loops; `nil` outside of loops.
    private(set) var budget: EvaluationBudget?

    /// A context for a value that takes the place of the document.
    init(value: Value, _ other: EvaluationContext) {
        root = value
        current = value
        variables = other.variables
        now = other.now
        collation = other.collation
        budget = other.budget
    }

    /// A context for one document.
    public init(root: Document, variables: [ExactText: Value] = [:], now: Int64 = 0, collation: Collation? = nil) {
        self.root = .document(root)
        current = .document(root)
        self.variables = variables
        self.now = now
        self.collation = collation
    }

    /// The context with a budget, for a loop.
    func limited() -> EvaluationContext {
        if budget != nil { return self }
        var context = self
        context.budget = EvaluationBudget()
        return context
    }

    func binding(_ name: String, to value: Value?) -> EvaluationContext {
        var context = self
        context.bind(name, to: value)
        return context
    }

    mutating func bind(_ name: String, to value: Value?) {
        if name == "CURRENT" { current = value } else { variables[name] = value }
    }

    func compare(_ a: Value, _ b: Value) -> Int { collation.compare(a, b) }
}

extension Value {
    /// Whether an expression counts this as true: everything but false, null, undefined and zero.
    var isTruthy: Bool {
        switch self {
        case .bool(let flag): flag
        case .null, .undefined: false
        case .int32(let number): number != 0
        case .int64(let number): number != 0
        case .double(let number): number != 0
        case .decimal128(let number): Decimal128.compare(number, .zero) != 0
        default: true
        }
    }
}

extension Value? {
    /// As for a value; a missing value is false.
    var isTruthy: Bool { self?.isTruthy ?? false }
}

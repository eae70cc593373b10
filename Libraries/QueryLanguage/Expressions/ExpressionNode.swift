import DocumentModel

/// The parsed tree of an expression, for code that translates it.
public indirect enum ExpressionNode: Sendable {
    /// A constant.
    case literal(Value)
    /// `$a.b` is the path `a.b` of the variable `CURRENT`, `$$name.b` one of another variable.
    case path(variable: String, path: [Path.Component])
    /// A document whose fields are expressions.
    case document([Field])
    /// An array whose elements are expressions.
    case array([ExpressionNode])
    /// An operator with its arguments by position.
    case operation(ExpressionOperator, [ExpressionNode])
    /// An operator with its arguments by name; those that are optional may be missing.
    case named(NamedOperator, [String: ExpressionNode])
    /// `$and`; stops at the first that is false.
    case and([ExpressionNode])
    /// `$or`; stops at the first that is true.
    case or([ExpressionNode])
    /// `$cond`.
    case condition(if: ExpressionNode, then: ExpressionNode, else: ExpressionNode)
    /// `$switch`.
    case choice([Branch], default: ExpressionNode?)
    /// `$ifNull`.
    case ifNull([ExpressionNode])
    /// `$let`.
    case binding([Field], in: ExpressionNode)
    /// `$map`.
    case map(ExpressionNode, as: String, in: ExpressionNode)
    /// `$filter`.
    case filter(ExpressionNode, as: String, condition: ExpressionNode, limit: ExpressionNode?)
    /// `$reduce`.
    case reduce(ExpressionNode, initial: ExpressionNode, in: ExpressionNode)
    /// `$sortArray`.
    case sortArray(ExpressionNode, Sort)

    /// A name and its expression.
    public struct Field: Sendable {
        /// The name of the field or variable.
        public let name: String
        /// The expression of its value.
        public let value: ExpressionNode
    }

    /// One case of `$switch`.
    public struct Branch: Sendable {
        /// The condition under which the case is chosen.
        public let condition: ExpressionNode
        /// The result of the case.
        public let result: ExpressionNode
    }
}

/// An operator whose arguments are all evaluated before it.
public struct ExpressionOperator: Sendable {
    typealias Body = @Sendable (_ arguments: [Value?], _ context: EvaluationContext) throws(QueryError) -> Value?

    /// The name, with its `$`.
    public let name: String
    let arity: ClosedRange<Int>
    let body: Body

    init(_ name: String, _ arity: ClosedRange<Int>, _ body: @escaping Body) {
        self.name = name
        self.arity = arity
        self.body = body
    }

    /// An operator of one argument.
    static func unary(_ name: String, _ body: @escaping @Sendable (Value?) throws(QueryError) -> Value?)
        -> ExpressionOperator
    {
        ExpressionOperator(name, 1...1) { (arguments, _) throws(QueryError) in try body(arguments[0]) }
    }

    /// An operator of two arguments.
    static func binary(_ name: String, _ body: @escaping @Sendable (Value?, Value?) throws(QueryError) -> Value?)
        -> ExpressionOperator
    {
        ExpressionOperator(name, 2...2) { (arguments, _) throws(QueryError) in try body(arguments[0], arguments[1]) }
    }

    /// An operator of any number of arguments.
    static func variadic(
        _ name: String, minimum: Int = 0, _ body: @escaping @Sendable ([Value?]) throws(QueryError) -> Value?
    ) -> ExpressionOperator {
        ExpressionOperator(name, minimum...Int.max) { (arguments, _) throws(QueryError) in try body(arguments) }
    }
}

/// An operator whose arguments are the fields of a document.
public struct NamedOperator: Sendable {
    typealias Body = @Sendable (_ arguments: Arguments, _ context: EvaluationContext) throws(QueryError) -> Value?

    /// The name, with its `$`.
    public let name: String
    let required: [String]
    let optional: [String]
    let body: Body

    init(_ name: String, _ required: [String], optional: [String] = [], _ body: @escaping Body) {
        self.name = name
        self.required = required
        self.optional = optional
        self.body = body
    }

    /// The evaluated arguments.
    struct Arguments {
        private let given: Set<String>
        private let values: [String: Value]

        init(given: Set<String>, values: [String: Value]) {
            self.given = given
            self.values = values
        }

        /// The value of an argument; `nil` if it is missing in the document or was not written.
        subscript(name: String) -> Value? { values[name] }

        /// Whether the argument was written, even if its value is missing.
        func isGiven(_ name: String) -> Bool { given.contains(name) }
    }
}

/// All operators by their names.
enum ExpressionOperators {
    static let positional: [String: ExpressionOperator] = {
        let all =
            arithmetic + trigonometry + comparison + boolean + array + set + string + object + type + date
            + accumulators + bits
        return Dictionary(all.map { ($0.name, $0) }, uniquingKeysWith: { first, _ in first })
    }()

    static let named: [String: NamedOperator] = {
        let all = namedArray + namedString + namedObject + namedType + namedDate + percentiles
        return Dictionary(all.map { ($0.name, $0) }, uniquingKeysWith: { first, _ in first })
    }()

    /// Operators that MongoDB has and this engine doesn't.
    static let unsupported: Set<String> = [
        "$function", "$accumulator", "$meta", "$sampleRate", "$toHashedIndexKey", "$encStrContains", "$encStrEndsWith",
        "$encStrStartsWith",
        "$encStrNormalizedEq", "$createObjectId", "$sigmoid",
    ]
}

extension Value? {
    /// Whether this is missing, null or undefined.
    var isNullish: Bool { self?.isNull ?? true }

    /// The name of the type for messages; `missing` for nothing.
    var typeName: String { self?.typeName ?? "missing" }
}

import DocumentModel

/// Comparison and `$not`.
extension ExpressionOperators {
    static let comparison: [ExpressionOperator] = [
        ExpressionOperator("$cmp", 2...2) { (arguments, context) in .int32(Int32(order(arguments, context).signum())) },
        ExpressionOperator("$eq", 2...2) { (arguments, context) in .bool(order(arguments, context) == 0) },
        ExpressionOperator("$ne", 2...2) { (arguments, context) in .bool(order(arguments, context) != 0) },
        ExpressionOperator("$gt", 2...2) { (arguments, context) in .bool(order(arguments, context) > 0) },
        ExpressionOperator("$gte", 2...2) { (arguments, context) in .bool(order(arguments, context) >= 0) },
        ExpressionOperator("$lt", 2...2) { (arguments, context) in .bool(order(arguments, context) < 0) },
        ExpressionOperator("$lte", 2...2) { (arguments, context) in .bool(order(arguments, context) <= 0) },
    ]

    static let boolean: [ExpressionOperator] = [.unary("$not") { (value) in .bool(!value.isTruthy) }]

    /// A missing value sorts before everything except MinKey.
    private static func order(_ arguments: [Value?], _ context: EvaluationContext) -> Int {
        switch (arguments[0], arguments[1]) {
        case (let a?, let b?): context.compare(a, b)
        case (nil, nil): 0
        case (nil, .minKey?): 1
        case (.minKey?, nil): -1
        case (nil, .undefined?), (.undefined?, nil): 0
        case (nil, _): -1
        case (_, nil): 1
        }
    }
}

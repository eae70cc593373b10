import DocumentModel

/// The accumulators that are also expressions: over their arguments, or over the elements of a single argument that is an array.
extension ExpressionOperators {
    static let accumulators: [ExpressionOperator] =
        ["$sum", "$avg", "$min", "$max", "$stdDevPop", "$stdDevSamp"].map { name in
            ExpressionOperator(name, 0...Int.max) { (arguments, context) throws(QueryError) in
                var accumulator = try Accumulator(name, context.collation)
                if arguments.count == 1, case .array(let elements)? = arguments[0] {
                    for element in elements { try accumulator.add(element) }
                } else {
                    for argument in arguments { try accumulator.add(argument) }
                }
                return accumulator.result
            }
        } + [
            .unary("$first") { (value) throws(QueryError) in try end("$first", value) { $0.first } },
            .unary("$last") { (value) throws(QueryError) in try end("$last", value) { $0.last } },
        ]

    private static func end(_ name: String, _ value: Value?, _ pick: ([Value]) -> Value?) throws(QueryError) -> Value? {
        if value.isNullish { return .null }
        guard case .array(let elements)? = value else {
            throw QueryError(code: 28689, message: "\(name)'s argument must be an array, but is \(value.typeName)")
        }
        return pick(elements)
    }
}

import DocumentModel

/// Operators that treat arrays as sets.
extension ExpressionOperators {
    static let set: [ExpressionOperator] = [
        .unary("$allElementsTrue") { (value) throws(QueryError) in
            .bool(try elements("$allElementsTrue", value, code: 17040).allSatisfy(\.isTruthy))
        },
        .unary("$anyElementTrue") { (value) throws(QueryError) in
            .bool(try elements("$anyElementTrue", value, code: 17041).contains(where: \.isTruthy))
        },
        ExpressionOperator("$setDifference", 2...2) { (values, context) throws(QueryError) in
            if values[0].isNullish || values[1].isNullish { return .null }
            // A value that was kept is added to the removed ones, so that each value is kept once.
            var removed = ValueSet(try elements("$setDifference", values[1], code: 17049), context.collation)
            return .array(try elements("$setDifference", values[0], code: 17048).filter { removed.insert($0) })
        },
        ExpressionOperator("$setEquals", 2...Int.max) { (values, context) throws(QueryError) in
            var first: ValueSet?
            var areEqual = true
            for value in values {
                let set = ValueSet(try elements("$setEquals", value, code: 17044), context.collation)
                if let first { areEqual = areEqual && set == first } else { first = set }
            }
            return .bool(areEqual)
        },
        ExpressionOperator("$setIntersection", 0...Int.max) { (values, context) throws(QueryError) in
            var result: [Value]?
            for value in values {
                if value.isNullish { return .null }
                let elements = try elements("$setIntersection", value, code: 17047)
                let set = ValueSet(elements, context.collation)
                result = result?.filter { set.contains($0) } ?? set.sorted
            }
            return .array(result ?? [])
        },
        ExpressionOperator("$setIsSubset", 2...2) { (values, context) throws(QueryError) in
            let inner = try elements("$setIsSubset", values[0], code: 17046)
            let outer = ValueSet(try elements("$setIsSubset", values[1], code: 17042), context.collation)
            return .bool(inner.allSatisfy { outer.contains($0) })
        },
        ExpressionOperator("$setUnion", 0...Int.max) { (values, context) throws(QueryError) in
            var result = ValueSet([], context.collation)
            for value in values {
                if value.isNullish { return .null }
                for element in try elements("$setUnion", value, code: 17043) { result.insert(element) }
            }
            return .array(result.sorted)
        },
    ]

    private static func elements(_ name: String, _ value: Value?, code: Int) throws(QueryError) -> [Value] {
        guard case .array(let elements)? = value else {
            throw QueryError(
                code: code,
                message: "All operands of \(name) must be arrays. One argument is of type: \(value.typeName)")
        }
        return elements
    }
}

import DocumentModel

/// Operators that see arrays as sets.
extension ExpressionOperators {
    static let set: [ExpressionOperator] = [
        .unary("$allElementsTrue") { (value) throws(QueryError) in
            .bool(try elements("$allElementsTrue", value, code: 17040).allSatisfy(\.isTruthy))
        },
        .unary("$anyElementTrue") { (value) throws(QueryError) in
            .bool(try elements("$anyElementTrue", value, code: 17041).contains(where: \.isTruthy))
        },
        .binary("$setDifference") { (a, b) throws(QueryError) in
            if a.isNullish || b.isNullish { return .null }
            let removed = Set(try elements("$setDifference", b, code: 17049))
            return .array(distinct(try elements("$setDifference", a, code: 17048).filter { !removed.contains($0) }))
        },
        .variadic("$setEquals", minimum: 2) { (values) throws(QueryError) in
            var first: Set<Value>?
            var areEqual = true
            for value in values {
                let set = Set(try elements("$setEquals", value, code: 17044))
                if let first { areEqual = areEqual && set == first } else { first = set }
            }
            return .bool(areEqual)
        },
        .variadic("$setIntersection") { (values) throws(QueryError) in
            var result: Set<Value>?
            for value in values {
                if value.isNullish { return .null }
                let set = Set(try elements("$setIntersection", value, code: 17047))
                result = result?.intersection(set) ?? set
            }
            return .array((result ?? []).sorted())
        },
        .binary("$setIsSubset") { (a, b) throws(QueryError) in
            let inner = Set(try elements("$setIsSubset", a, code: 17046))
            return .bool(inner.isSubset(of: try elements("$setIsSubset", b, code: 17042)))
        },
        .variadic("$setUnion") { (values) throws(QueryError) in
            var result: Set<Value> = []
            for value in values {
                if value.isNullish { return .null }
                result.formUnion(try elements("$setUnion", value, code: 17043))
            }
            return .array(result.sorted())
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

    private static func distinct(_ elements: [Value]) -> [Value] {
        var seen: Set<Value> = []
        return elements.filter { seen.insert($0).inserted }
    }
}

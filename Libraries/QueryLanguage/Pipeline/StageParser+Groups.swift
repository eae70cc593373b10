import DocumentModel

/// Stages that accumulate.
extension StageParser {
    private static let accumulators: Set<String> = [
        "$sum", "$avg", "$min", "$max", "$first", "$last", "$push", "$addToSet", "$stdDevPop", "$stdDevSamp",
        "$mergeObjects", "$count",
        "$firstN", "$lastN", "$minN", "$maxN", "$top", "$bottom", "$topN", "$bottomN", "$percentile", "$median",
    ]

    /// Accumulators of MongoDB that this engine doesn't have; some of them exist as expressions.
    private static let unsupported: Set<String> = ["$concatArrays", "$setUnion", "$minMaxScaler"]

    func group(_ value: Value) throws(QueryError) -> GroupSpecification {
        guard case .document(let document) = value else {
            throw QueryError(code: 15947, message: "a group's fields must be specified in an object")
        }
        guard let id = document["_id"] else {
            throw QueryError(code: 15955, message: "a group specification must include an _id")
        }
        var fields: [(name: String, accumulator: AccumulatorSpecification)] = []
        for field in document.fields where field.key != "_id" {
            guard !field.key.contains(".") else {
                throw QueryError(code: 40235, message: "The field name '\(field.key)' cannot contain '.'")
            }
            guard !field.key.hasPrefix("$") else {
                throw QueryError(code: 40236, message: "The field name '\(field.key)' cannot be an operator name")
            }
            fields.append((field.key, try accumulator(field.key, field.value)))
        }
        return GroupSpecification(id: try expression(id), fields: fields)
    }

    func accumulator(_ name: String, _ value: Value) throws(QueryError) -> AccumulatorSpecification {
        guard case .document(let document) = value, let operation = document.fields.first else {
            throw QueryError(code: 40234, message: "The field '\(name)' must be an accumulator object")
        }
        guard document.count == 1 else {
            throw QueryError(code: 40238, message: "The field '\(name)' must specify one accumulator")
        }
        return try accumulator(operation: operation)
    }

    func accumulator(operation: Document.Field) throws(QueryError) -> AccumulatorSpecification {
        if ExpressionOperators.unsupported.contains(operation.key) || Self.unsupported.contains(operation.key) {
            throw .notSupported(operation.key)
        }
        guard Self.accumulators.contains(operation.key) else {
            throw QueryError(code: 15952, message: "unknown group operator '\(operation.key)'")
        }
        switch operation.key {
        case "$count":
            guard case .document(let empty) = operation.value, empty.isEmpty else {
                throw .typeMismatch("$count takes no arguments, i.e. $count:{}")
            }
            return AccumulatorSpecification(
                name: "$count", argument: Expression(node: .literal(.null)))
        case "$firstN", "$lastN", "$minN", "$maxN":
            guard let input = operation.value["input"], let count = operation.value["n"] else {
                throw QueryError(code: 5_787_906, message: "\(operation.key) needs 'input' and 'n'")
            }
            return AccumulatorSpecification(
                name: operation.key, argument: try expression(input), count: try expression(count), sort: nil)
        case "$top", "$bottom", "$topN", "$bottomN":
            guard let output = operation.value["output"], case .document(let order)? = operation.value["sortBy"] else {
                throw QueryError(code: 5_788_002, message: "\(operation.key) needs 'output' and 'sortBy'")
            }
            var count: Expression?
            if operation.key.hasSuffix("N") {
                guard let value = operation.value["n"] else {
                    throw QueryError(code: 5_788_003, message: "\(operation.key) needs 'n'")
                }
                count = try expression(value)
            }
            return AccumulatorSpecification(
                name: operation.key, argument: try expression(output), count: count, sort: try Sort(order))
        case "$percentile", "$median":
            let (input, percentiles) = try Percentiles.parse(operation.key, operation.value)
            return AccumulatorSpecification(
                name: operation.key, argument: try expression(input), percentiles: percentiles)
        default:
            var argument = operation.value
            if case .array(let elements) = argument {
                guard elements.count == 1 else {
                    throw QueryError(code: 40237, message: "The \(operation.key) accumulator is a unary operator")
                }
                argument = elements[0]
            }
            return AccumulatorSpecification(
                name: operation.key, argument: try expression(argument))
        }
    }

    private func fields(_ value: Value?) throws(QueryError) -> [(name: String, accumulator: AccumulatorSpecification)] {
        guard let value else {
            let count = AccumulatorSpecification(
                name: "$sum", argument: Expression(node: .literal(1)))
            return [("count", count)]
        }
        guard case .document(let document) = value else {
            throw QueryError(code: 40196, message: "The 'output' field must be an object")
        }
        var fields: [(name: String, accumulator: AccumulatorSpecification)] = []
        for field in document.fields { fields.append((field.key, try accumulator(field.key, field.value))) }
        return fields
    }

    private func requireExpression(_ name: String, _ value: Value, _ code: Int) throws(QueryError) {
        switch value {
        case .document: return
        case .string(let path) where path.hasPrefix("$"): return
        default:
            throw QueryError(
                code: code, message: "The \(name) 'groupBy' field must be defined as a $-prefixed path or an expression"
            )
        }
    }

    func bucket(_ value: Value) throws(QueryError) -> BucketSpecification {
        let document = try object("$bucket", value, 40201)
        for field in document.fields where !["groupBy", "boundaries", "default", "output"].contains(field.key) {
            throw QueryError(code: 40197, message: "Unrecognized option to $bucket: \(field.key)")
        }
        guard let groupBy = document["groupBy"], let bounds = document["boundaries"] else {
            throw QueryError(code: 40198, message: "$bucket requires 'groupBy' and 'boundaries' to be specified.")
        }
        try requireExpression("$bucket", groupBy, 40202)
        guard case .array(let elements) = bounds else {
            throw QueryError(code: 40200, message: "The $bucket 'boundaries' field must be an array")
        }
        guard elements.count >= 2 else {
            throw QueryError(code: 40192, message: "The $bucket 'boundaries' field must have at least 2 values")
        }
        var boundaries: [Value] = []
        for element in elements {
            guard let constant = try expression(element).evaluate(EvaluationContext(root: Document())) else {
                throw QueryError(
                    code: 40191, message: "The $bucket 'boundaries' field must be an array of constant values")
            }
            if let last = boundaries.last {
                guard last.typeRank == constant.typeRank else {
                    throw QueryError(
                        code: 40193, message: "All values in the 'boundaries' option to $bucket must have the same type"
                    )
                }
                guard Value.compare(last, constant) < 0 else {
                    throw QueryError(code: 40194, message: "The 'boundaries' option to $bucket must be sorted")
                }
            }
            boundaries.append(constant)
        }
        if let otherwise = document["default"], otherwise.typeRank == boundaries[0].typeRank,
            Value.compare(otherwise, boundaries[0]) >= 0, Value.compare(otherwise, boundaries[boundaries.count - 1]) < 0
        {
            throw QueryError(
                code: 40199,
                message:
                    "The $bucket 'default' field must be less than the lowest boundary or greater than or equal to the highest boundary."
            )
        }
        return BucketSpecification(
            groupBy: try expression(groupBy), boundaries: boundaries, otherwise: document["default"],
            fields: try fields(document["output"]))
    }

    func bucketAuto(_ value: Value) throws(QueryError) -> BucketAutoSpecification {
        let document = try object("$bucketAuto", value, 40240)
        for field in document.fields where !["groupBy", "buckets", "output", "granularity"].contains(field.key) {
            throw QueryError(code: 40245, message: "Unrecognized option to $bucketAuto: \(field.key)")
        }
        let granularity = try document["granularity"].map { (value) throws(QueryError) in try Granularity(value) }
        guard let groupBy = document["groupBy"], let buckets = document["buckets"] else {
            throw QueryError(code: 40246, message: "$bucketAuto requires 'groupBy' and 'buckets' to be specified")
        }
        try requireExpression("$bucketAuto", groupBy, 40239)
        guard buckets.isNumber else {
            throw QueryError(
                code: 40241,
                message: "The $bucketAuto 'buckets' field must be a numeric value, but found \(buckets.typeName)")
        }
        guard buckets.int64Value.flatMap({ Int32(exactly: $0) }) != nil else {
            throw QueryError(
                code: 40242, message: "The $bucketAuto 'buckets' field must be representable as a 32-bit integer")
        }
        guard let count = buckets.intValue, count > 0 else {
            throw QueryError(code: 40243, message: "The $bucketAuto 'buckets' field must be greater than 0")
        }
        return BucketAutoSpecification(
            groupBy: try expression(groupBy), buckets: count, fields: try fields(document["output"]),
            granularity: granularity)
    }
}

import DocumentModel

/// Operators on documents.
extension ExpressionOperators {
    static let object: [ExpressionOperator] = [
        .variadic("$mergeObjects") { (values) throws(QueryError) in
            // With one argument that is an array, its elements are merged.
            var sources = values
            if values.count == 1, case .array(let elements)? = values[0] { sources = elements }
            var fields: [Document.Field] = []
            for source in sources {
                if source.isNullish { continue }
                guard case .document(let document)? = source else {
                    throw QueryError(
                        code: 40400,
                        message:
                            "$mergeObjects requires object inputs, but input \(source ?? .null) is of type \(source.typeName)"
                    )
                }
                fields += document.fields
            }
            var result = Document()
            result.merge(fields)
            return .document(result)
        },
        .unary("$objectToArray") { (value) throws(QueryError) in
            if value.isNullish { return .null }
            guard case .document(let document)? = value else {
                throw QueryError(
                    code: 40390, message: "$objectToArray requires a document input, found: \(value.typeName)")
            }
            return .array(document.fields.map { ["k": .string($0.key), "v": $0.value] })
        },
    ]

    static let namedObject: [NamedOperator] = [
        NamedOperator("$getField", ["field"], optional: ["input"]) { (arguments, context) throws(QueryError) in
            guard case .string(let name)? = arguments["field"] else {
                throw QueryError(
                    code: 3_041_704,
                    message:
                        "$getField requires 'field' to evaluate to type String, but got \(arguments["field"].typeName)")
            }
            let input = arguments.isGiven("input") ? arguments["input"] : context.current
            if case .document(let document)? = input { return document[name] }
            return input.isNullish && input != nil ? .null : nil
        },
        NamedOperator("$setField", ["field", "input", "value"]) { (arguments, _) throws(QueryError) in
            try setField("$setField", arguments["field"], arguments["input"], to: arguments["value"])
        },
        NamedOperator("$unsetField", ["field", "input"]) { (arguments, _) throws(QueryError) in
            try setField("$unsetField", arguments["field"], arguments["input"], to: nil)
        },
    ]

    private static func setField(_ name: String, _ field: Value?, _ input: Value?, to value: Value?) throws(QueryError)
        -> Value?
    {
        guard case .string(let key)? = field else {
            throw QueryError(code: 4_161_107, message: "\(name) requires 'field' to evaluate to type String")
        }
        if input.isNullish { return .null }
        guard case .document(var document)? = input else {
            throw QueryError(code: 4_161_105, message: "\(name) requires 'input' to evaluate to type Object")
        }
        document[key] = value
        return .document(document)
    }
}

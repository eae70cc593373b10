import DocumentModel

/// Operators on arrays.
extension ExpressionOperators {
    static let array: [ExpressionOperator] = [
        .binary("$arrayElemAt") { (array, index) throws(QueryError) in
            if array.isNullish || index.isNullish { return .null }
            guard case .array(let elements)? = array else {
                throw QueryError(
                    code: 28689, message: "$arrayElemAt's first argument must be an array, but is \(array.typeName)")
            }
            guard let index, index.isNumber else {
                throw QueryError(
                    code: 28690,
                    message: "$arrayElemAt's second argument must be a numeric value, but is \(index.typeName)")
            }
            guard let place = index.intValue else {
                throw QueryError(
                    code: 28691,
                    message: "$arrayElemAt's second argument must be representable as a 32-bit integer: \(index)")
            }
            let position = place < 0 ? elements.count + max(place, -elements.count - 1) : place
            return elements.indices.contains(position) ? elements[position] : nil
        },
        .unary("$arrayToObject") { (value) throws(QueryError) in try arrayToObject(value) },
        .variadic("$concatArrays") { (values) throws(QueryError) in
            var result: [Value] = []
            for value in values {
                if value.isNullish { return .null }
                guard case .array(let elements)? = value else {
                    throw QueryError(code: 28664, message: "$concatArrays only supports arrays, not \(value.typeName)")
                }
                guard result.count + elements.count <= 1_000_000 else {
                    throw QueryError(code: 146, message: "$concatArrays would use too much memory")
                }
                result += elements
            }
            return .array(result)
        },
        ExpressionOperator("$in", 2...2) { (arguments, context) throws(QueryError) in
            guard case .array(let elements)? = arguments[1] else {
                throw QueryError(
                    code: 40081, message: "$in requires an array as a second argument, found: \(arguments[1].typeName)")
            }
            guard let value = arguments[0] else { return .bool(false) }
            return .bool(elements.contains { context.compare($0, value) == 0 })
        },
        ExpressionOperator("$indexOfArray", 2...4) { (arguments, context) throws(QueryError) in
            if arguments[0].isNullish { return .null }
            guard case .array(let elements)? = arguments[0] else {
                throw QueryError(
                    code: 40090,
                    message: "$indexOfArray requires an array as a first argument, found: \(arguments[0].typeName)")
            }
            guard let range = try range("$indexOfArray", arguments, count: elements.count), let value = arguments[1]
            else { return .int32(-1) }
            let place = elements[range].firstIndex { context.compare($0, value) == 0 }
            return .integer(place ?? -1)
        },
        .unary("$isArray") { (value) in if case .array? = value { .bool(true) } else { .bool(false) } },
        ExpressionOperator("$range", 2...3) { (arguments, _) throws(QueryError) in try range(arguments) },
        .unary("$reverseArray") { (value) throws(QueryError) in
            if value.isNullish { return .null }
            guard case .array(let elements)? = value else {
                throw QueryError(
                    code: 34435,
                    message: "The argument to $reverseArray must be an array, but was of type: \(value.typeName)")
            }
            return .array(elements.reversed())
        },
        .unary("$size") { (value) throws(QueryError) in
            guard case .array(let elements)? = value else {
                throw QueryError(
                    code: 17124, message: "The argument to $size must be an array, but was of type: \(value.typeName)")
            }
            return .integer(elements.count)
        },
        ExpressionOperator("$slice", 2...3) { (arguments, _) throws(QueryError) in try slice(arguments) },
    ]

    static let namedArray: [NamedOperator] = [
        NamedOperator("$zip", ["inputs"], optional: ["useLongestLength", "defaults"]) {
            (arguments, _) throws(QueryError) in try zip(arguments)
        },
        NamedOperator("$firstN", ["input", "n"]) { (arguments, _) throws(QueryError) in
            try firstElements("$firstN", arguments) { elements, count in Array(elements.prefix(count)) }
        },
        NamedOperator("$lastN", ["input", "n"]) { (arguments, _) throws(QueryError) in
            try firstElements("$lastN", arguments) { elements, count in Array(elements.suffix(count)) }
        },
        NamedOperator("$maxN", ["input", "n"]) { (arguments, context) throws(QueryError) in
            try firstElements("$maxN", arguments) { elements, count in
                Array(elements.filter { !$0.isNull }.sorted { context.compare($0, $1) > 0 }.prefix(count))
            }
        },
        NamedOperator("$minN", ["input", "n"]) { (arguments, context) throws(QueryError) in
            try firstElements("$minN", arguments) { elements, count in
                Array(elements.filter { !$0.isNull }.sorted { context.compare($0, $1) < 0 }.prefix(count))
            }
        },
    ]

    private static func arrayToObject(_ value: Value?) throws(QueryError) -> Value? {
        if value.isNullish { return .null }
        guard case .array(let elements)? = value else {
            throw QueryError(code: 40386, message: "$arrayToObject requires an array input, found: \(value.typeName)")
        }
        var fields: [Document.Field] = []
        for element in elements {
            if let first = elements.first, first.typeRank != element.typeRank, first.isPair {
                throw QueryError(
                    code: first.arrayCount == nil ? 40391 : 40396,
                    message:
                        "$arrayToObject requires a consistent input format. Elements must all be arrays or all be objects. Array was expected, but found: \(element.typeName)"
                )
            }
            switch element {
            case .array(let pair):
                guard pair.count == 2 else {
                    throw QueryError(
                        code: 40397,
                        message: "$arrayToObject requires an array of size 2 arrays,found array of size: \(pair.count)")
                }
                guard case .string(let key) = pair[0] else {
                    throw QueryError(
                        code: 40395,
                        message:
                            "$arrayToObject requires an array of key-value pairs, where the key must be of type string. Found key type: \(pair[0].typeName)"
                    )
                }
                try refuseNUL(in: key, 4_940_400)
                fields.append(Document.Field(key, pair[1]))
            case .document(let pair):
                guard pair.count == 2, let key = pair["k"], let value = pair["v"] else {
                    throw QueryError(
                        code: pair.count == 2 ? 40393 : 40392,
                        message:
                            "$arrayToObject requires an object keys of 'k' and 'v'. Found incorrect number of keys:\(pair.count)"
                    )
                }
                guard case .string(let key) = key else {
                    throw QueryError(
                        code: 40394,
                        message:
                            "$arrayToObject requires an object with keys 'k' and 'v', where the value of 'k' must be of type string. Found type: \(key.typeName)"
                    )
                }
                try refuseNUL(in: key, 4_940_401)
                fields.append(Document.Field(key, value))
            default:
                throw QueryError(
                    code: 40398, message: "Unrecognised input type format for $arrayToObject: \(element.typeName)")
            }
        }
        var document = Document()
        document.merge(fields)
        return .document(document)
    }

    private static func refuseNUL(in key: String, _ code: Int) throws(QueryError) {
        guard key.utf8.contains(0) else { return }
        throw QueryError(code: code, message: "Key field cannot contain an embedded null byte")
    }

    /// The third and fourth argument as a range of places; `nil` if it is empty.
    static func range(_ name: String, _ arguments: [Value?], count: Int) throws(QueryError) -> Range<Int>? {
        var bounds = [0, count]
        for index in 2..<max(2, arguments.count) {
            guard let number = arguments[index]?.intValue else {
                throw QueryError(
                    code: 40096,
                    message:
                        "\(name) requires an integral \(index == 2 ? "starting" : "ending") index, found: \(arguments[index].typeName)"
                )
            }
            guard number >= 0 else {
                throw QueryError(
                    code: 40097,
                    message: "\(name) requires a nonnegative \(index == 2 ? "start" : "ending") index, found: \(number)"
                )
            }
            bounds[index - 2] = min(number, count)
        }
        return bounds[0] < bounds[1] ? bounds[0]..<bounds[1] : nil
    }

    private static func range(_ arguments: [Value?]) throws(QueryError) -> Value? {
        var numbers: [Int64] = []
        for (index, argument) in arguments.enumerated() {
            guard let number = argument?.int64Value, Int32(exactly: number) != nil else {
                throw QueryError(
                    code: 34443 + index * 2 + (argument?.isNumber == true ? 1 : 0),
                    message:
                        "$range requires numbers that can be represented as a 32-bit integer, found: \(argument.typeName)"
                )
            }
            numbers.append(number)
        }
        let step = numbers.count == 3 ? numbers[2] : 1
        guard step != 0 else { throw QueryError(code: 34449, message: "$range requires a non-zero step value") }
        let count = (numbers[1] - numbers[0] + (step > 0 ? step - 1 : step + 1)) / step
        guard count <= 1_000_000 else { throw QueryError(code: 146, message: "$range would use too much memory") }
        guard count > 0 else { return .array([]) }
        return .array(stride(from: numbers[0], to: numbers[1], by: Int64.Stride(step)).map { .integer($0) })
    }

    private static func slice(_ arguments: [Value?]) throws(QueryError) -> Value? {
        if arguments.contains(where: { $0.isNullish }) { return .null }
        guard case .array(let elements)? = arguments[0] else {
            throw QueryError(
                code: 28724,
                message: "First argument to $slice must be an array, but is of type: \(arguments[0].typeName)")
        }
        guard let first = arguments[1]?.intValue else {
            throw QueryError(
                code: arguments[1]?.isNumber == true ? 28726 : 28725,
                message: "Second argument to $slice must be a numeric value, but is of type: \(arguments[1].typeName)")
        }
        guard arguments.count == 3 else {
            return .array(
                first < 0 ? Array(elements.suffix(-max(first, -elements.count))) : Array(elements.prefix(first)))
        }
        guard let count = arguments[2]?.intValue else {
            throw QueryError(
                code: arguments[2]?.isNumber == true ? 28728 : 28727,
                message: "Third argument to $slice must be numeric, but is of type: \(arguments[2].typeName)")
        }
        guard count > 0 else {
            throw QueryError(code: 28729, message: "Third argument to $slice must be positive: \(count)")
        }
        let start = first < 0 ? max(0, elements.count + max(first, -elements.count)) : min(first, elements.count)
        return .array(Array(elements[start...].prefix(count)))
    }

    private static func zip(_ arguments: NamedOperator.Arguments) throws(QueryError) -> Value? {
        guard case .array(let inputs)? = arguments["inputs"] else {
            throw QueryError(
                code: 34461, message: "inputs must be an array of expressions, found \(arguments["inputs"].typeName)")
        }
        guard !inputs.isEmpty else { throw QueryError(code: 34465, message: "$zip requires at least one input array") }
        let longest = arguments["useLongestLength"].isTruthy
        var arrays: [[Value]] = []
        for input in inputs {
            if input.isNull { return .null }
            guard case .array(let elements) = input else {
                throw QueryError(code: 34468, message: "$zip found a non-array expression in input: \(input)")
            }
            arrays.append(elements)
        }
        var defaults: [Value] = []
        if case .array(let given)? = arguments["defaults"] {
            guard longest else {
                throw QueryError(code: 34466, message: "cannot specify defaults unless useLongestLength is true")
            }
            guard given.count == arrays.count else {
                throw QueryError(code: 34467, message: "defaults and inputs must have the same length")
            }
            defaults = given
        }
        let count = (longest ? arrays.map(\.count).max() : arrays.map(\.count).min()) ?? 0
        guard count <= 1_000_000 / arrays.count else {
            throw QueryError(code: 146, message: "$zip would use too much memory")
        }
        return .array(
            (0..<count).map { row in
                .array(
                    arrays.indices.map {
                        row < arrays[$0].count ? arrays[$0][row] : $0 < defaults.count ? defaults[$0] : .null
                    })
            })
    }

    private static func firstElements(
        _ name: String, _ arguments: NamedOperator.Arguments, _ pick: ([Value], Int) -> [Value]
    ) throws(QueryError) -> Value? {
        let count = try elementCount(arguments["n"])
        guard case .array(let elements)? = arguments["input"] else {
            throw QueryError(code: 5_788_200, message: "Input must be an array")
        }
        return .array(pick(elements, count))
    }

    /// The number `n` of `$firstN` and its siblings.
    static func elementCount(_ value: Value?) throws(QueryError) -> Int {
        guard let value, value.isNumber else {
            throw QueryError(
                code: 5_787_902, message: "Value for 'n' must be of integral type, but found \(value ?? .null)")
        }
        guard let count = value.intValue else {
            throw QueryError(code: 5_787_903, message: "Value for 'n' must be of integral type, but found \(value)")
        }
        guard count > 0 else {
            throw QueryError(code: 5_787_908, message: "'n' must be greater than 0, found \(count)")
        }
        return count
    }
}

extension Value {
    /// Whether `$arrayToObject` accepts this as a key and its value.
    fileprivate var isPair: Bool {
        switch self {
        case .array, .document: true
        default: false
        }
    }
}

import DocumentModel

/// Operators for types and conversions.
extension ExpressionOperators {
    static let type: [ExpressionOperator] = [
        .unary("$isNumber") { (value) in .bool(value?.isNumber ?? false) },
        .unary("$type") { (value) in .string(value.typeName) },
        .unary("$toBool") { (value) throws(QueryError) in try convert(value, .bool) },
        .unary("$toDate") { (value) throws(QueryError) in try convert(value, .date) },
        .unary("$toDecimal") { (value) throws(QueryError) in try convert(value, .decimal) },
        .unary("$toDouble") { (value) throws(QueryError) in try convert(value, .double) },
        .unary("$toInt") { (value) throws(QueryError) in try convert(value, .int) },
        .unary("$toLong") { (value) throws(QueryError) in try convert(value, .long) },
        .unary("$toObjectId") { (value) throws(QueryError) in try convert(value, .objectId) },
        .unary("$toUUID") { (value) throws(QueryError) in
            guard let value, !value.isNull else { return .null }
            return try BinaryConversion(subtype: 4, format: "uuid").convert(value)
        },
        .unary("$toString") { (value) throws(QueryError) in try convert(value, .string) },
        .unary("$binarySize") { (value) throws(QueryError) in
            switch value {
            case nil, .null?, .undefined?: return .null
            case .string(let text)?: return .integer(text.utf8.count)
            case .binary(let binary)?: return .integer(binary.bytes.count)
            default:
                throw QueryError(
                    code: 51276, message: "$binarySize requires a string or BinData argument, found: \(value.typeName)")
            }
        },
        .unary("$bsonSize") { (value) throws(QueryError) in
            if value.isNullish { return .null }
            guard case .document(let document)? = value else {
                throw QueryError(code: 31393, message: "$bsonSize requires a document input, found: \(value.typeName)")
            }
            do throws(BSONError) {
                return .integer(try BSON.encode(document).count)
            } catch {
                throw .badValue(error.message)
            }
        },
        .unary("$tsSecond") { (value) throws(QueryError) in
            if value.isNullish { return .null }
            guard case .timestamp(let time)? = value else {
                throw QueryError(code: 5_687_301, message: "$tsSecond requires a timestamp argument")
            }
            return .int64(Int64(time.seconds))
        },
        .unary("$tsIncrement") { (value) throws(QueryError) in
            if value.isNullish { return .null }
            guard case .timestamp(let time)? = value else {
                throw QueryError(code: 5_687_302, message: "$tsIncrement requires a timestamp argument")
            }
            return .int64(Int64(time.increment))
        },
    ]

    static let namedType: [NamedOperator] = [
        NamedOperator("$convert", ["input", "to"], optional: ["onError", "onNull", "format", "byteOrder"]) {
            (arguments, _) throws(QueryError) in
            guard let input = arguments["input"], !input.isNull else {
                return arguments.isGiven("onNull") ? arguments["onNull"] : .null
            }
            if arguments["to"].isNullish { return .null }
            do throws(QueryError) {
                let byteOrder = arguments["byteOrder"]
                if let binary = try BinaryConversion(
                    arguments["to"], format: arguments["format"], byteOrder: byteOrder)
                {
                    return try binary.convert(input)
                }
                if case .binary(let binary) = input, arguments.isGiven("format"),
                    arguments["to"] == "string" || arguments["to"] == 2
                {
                    return .string(try BinaryConversion.text(of: binary, format: arguments["format"]))
                }
                guard let to = arguments["to"], let target = Conversion.Target(to) else {
                    throw Conversion.refusal(of: input, to: arguments["to"])
                }
                if case .binary(let binary) = input, [.int, .long, .double].contains(target) {
                    return try BinaryConversion.number(of: binary, target, byteOrder: byteOrder)
                }
                return try Conversion.convert(input, to: target)
            } catch {
                guard error.code == QueryError.conversionFailure, arguments.isGiven("onError") else { throw error }
                return arguments["onError"]
            }
        }
    ]

    private static func convert(_ value: Value?, _ target: Conversion.Target) throws(QueryError) -> Value? {
        guard let value, !value.isNull else { return .null }
        return try Conversion.convert(value, to: target)
    }
}

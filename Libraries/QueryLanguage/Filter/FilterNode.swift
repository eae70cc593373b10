import DocumentModel

/// The parsed tree of a filter, for those who translate it.
public indirect enum FilterNode: Sendable {
    /// Matches if all of them do; an empty list matches everything.
    case and([FilterNode])
    /// Matches if one of them does.
    case or([FilterNode])
    /// Matches if none of them does.
    case nor([FilterNode])
    /// A condition on a path. Negative operators (`$ne`, `$nin`, `$not`) are conditions too: see `FieldCondition.not`.
    case field(Path, FieldCondition)
    /// `$expr`.
    case expression(Expression)
    /// `$jsonSchema`.
    case schema(JSONSchema)
    /// `$alwaysFalse` (`true`: `$alwaysTrue`).
    case constant(Bool)
}

/// One condition on what stands at a path.
///
/// As in MongoDB a path leads through arrays: the condition holds if it holds for one of the values that the path reaches, where a final
/// array stands for its elements and for itself.
public indirect enum FieldCondition: Sendable {
    /// `$eq`; null also matches what is missing.
    case equal(Value)
    /// `$gt`, `$gte`, `$lt`, `$lte`: only values of the same rank of type compare.
    case compare(Comparison, Value)
    /// `$in`: the values in their order, and apart from them the regular expressions of the list.
    case `in`([Value], [RegexCondition])
    /// A regular expression as the value, or `$regex`.
    case regex(RegexCondition)
    /// `$exists: true`.
    case exists
    /// `$type`.
    case type(TypeSet)
    /// `$size`.
    case size(Int)
    /// `$mod`.
    case modulo(divisor: Int64, remainder: Int64)
    /// `$bitsAllSet` and its siblings.
    case bits(BitTest)
    /// `$elemMatch` with a filter for elements that are documents.
    case elementMatches(FilterNode)
    /// `$elemMatch` with conditions for the element itself.
    case elementSatisfies([FieldCondition])
    /// `$all`, or several conditions under `$not`: each has to hold, be it for different elements.
    case allOf([FieldCondition])
    /// `$geoWithin`, `$geoIntersects`, `$near`, `$nearSphere`.
    case geo(GeoCondition)
    /// `$not`, `$ne`, `$nin`, `$exists: false`.
    case not(FieldCondition)

    /// The order operators.
    public enum Comparison: String, Sendable {
        case greater = "$gt"
        case greaterOrEqual = "$gte"
        case less = "$lt"
        case lessOrEqual = "$lte"
    }
}

/// A regular expression and its compiled form.
public struct RegexCondition: Sendable {
    /// As it was written.
    public let expression: RegularExpression
    let compiled: any CompiledRegex

    init(_ expression: RegularExpression) throws(QueryError) {
        self.expression = expression
        compiled = try RegexEngine.compile(expression)
    }
}

/// The types that `$type` asks for.
public struct TypeSet: Sendable {
    /// BSON's codes of the types.
    public let codes: Set<UInt8>

    /// Reads a code, an alias (`number` stands for four) or an array of them.
    public init(_ value: Value) throws(QueryError) {
        var codes: Set<UInt8> = []
        if case .array(let elements) = value {
            guard !elements.isEmpty else { throw .failedToParse("a must match at least one type") }
            for element in elements { codes.formUnion(try Self.codes(of: element)) }
        } else {
            codes = try Self.codes(of: value)
        }
        self.codes = codes
    }

    private static func codes(of value: Value) throws(QueryError) -> Set<UInt8> {
        if case .string(let name) = value {
            if name == "number" { return [0x01, 0x10, 0x12, 0x13] }
            guard let code = names[name] else { throw .badValue("Unknown type name alias: \(name)") }
            return [code]
        }
        guard let number = value.int64Value else {
            throw .typeMismatch("type must be represented as a number or a string")
        }
        guard number == -1 || number == 127 || (1...19).contains(number) else {
            throw .badValue("Invalid numerical type code: \(number)")
        }
        return [UInt8(truncatingIfNeeded: number)]
    }

    private static let names: [String: UInt8] = [
        "double": 0x01, "string": 0x02, "object": 0x03, "array": 0x04, "binData": 0x05, "undefined": 0x06,
        "objectId": 0x07, "bool": 0x08,
        "date": 0x09, "null": 0x0A, "regex": 0x0B, "dbPointer": 0x0C, "javascript": 0x0D, "symbol": 0x0E,
        "javascriptWithScope": 0x0F,
        "int": 0x10, "timestamp": 0x11, "long": 0x12, "decimal": 0x13, "minKey": 0xFF, "maxKey": 0x7F,
    ]

    func contains(_ value: Value) -> Bool { codes.contains(value.typeCode) }
}
